"""Run by Alembic: applies the versions on the connection that service.database_version hands over.

There is no other way in: `python -m service migrate` locks the database and checks it before and after.
"""

from __future__ import annotations

from alembic import context

from service.models import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
