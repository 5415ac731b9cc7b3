"""The first version: every table.

Written by hand and never changed again: what comes later is a version of its own.
"""

from __future__ import annotations

import time

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

BIG_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
ACTIVE = "state IN ('queued', 'waiting_for_runner', 'running')"


def upgrade() -> None:
    """Make the tables, in the order in which they refer to each other, and the one tenant that there is at first."""
    make_tenants()
    make_kernels()
    make_devices()
    make_jobs()
    make_answers()
    make_effects()


def make_tenants() -> None:
    """Who asks, with the tenant that everybody is for now."""
    op.create_table(
        "tenants",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("is_private", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_tenants"),
        sa.UniqueConstraint("name", name="uq_tenants_name"),
    )

    op.create_table(
        "tokens",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("scope", sa.String(16), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("expires_at", sa.Double()),
        sa.Column("revoked_at", sa.Double()),
        sa.PrimaryKeyConstraint("id", name="pk_tokens"),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name="fk_tokens_tenant_id"),
        sa.UniqueConstraint("digest", name="uq_tokens_digest"),
    )
    everybody = sa.table(
        "tenants", sa.column("id"), sa.column("name"), sa.column("is_private"), sa.column("created_at")
    )
    op.bulk_insert(everybody, [{"id": 1, "name": "default", "is_private": False, "created_at": time.time()}])


def make_kernels() -> None:
    """What was sent, by whom, and under which bytes."""
    op.create_table(
        "kernels",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("ast", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_kernels"),
        sa.UniqueConstraint("key", name="uq_kernels_key"),
    )

    op.create_table(
        "kernel_tenants",
        sa.Column("kernel_id", sa.Integer(), nullable=False),
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("kernel_id", "tenant_id", name="pk_kernel_tenants"),
        sa.ForeignKeyConstraint(["kernel_id"], ["kernels.id"], name="fk_kernel_tenants_kernel_id"),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name="fk_kernel_tenants_tenant_id"),
    )

    op.create_table(
        "known_as",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("kernel_id", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_known_as"),
        sa.ForeignKeyConstraint(["kernel_id"], ["kernels.id"], name="fk_known_as_kernel_id"),
    )


def make_devices() -> None:
    """Kinds of device, their versions, and the processes that hold one."""
    op.create_table(
        "devices",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("backend", sa.Text(), nullable=False),
        sa.Column("vendor", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("arch", sa.Text(), nullable=False),
        sa.Column("compute_units", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("limits", sa.JSON(), nullable=False),
        sa.Column("fingerprint_digest", sa.String(64), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_devices"),
        sa.UniqueConstraint("key", name="uq_devices_key"),
    )

    op.create_table(
        "fingerprints",
        sa.Column("device_id", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("driver", sa.Text(), nullable=False),
        sa.Column("platform", sa.Text(), nullable=False),
        sa.Column("compiler", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("device_id", "digest", name="pk_fingerprints"),
        sa.ForeignKeyConstraint(["device_id"], ["devices.id"], name="fk_fingerprints_device_id"),
    )

    op.create_table(
        "runners",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("device_id", sa.Integer(), nullable=False),
        sa.Column("unit", sa.Integer(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.Double(), nullable=False),
        sa.Column("heartbeat_at", sa.Double(), nullable=False),
        sa.Column("stopped_at", sa.Double()),
        sa.PrimaryKeyConstraint("id", name="pk_runners"),
        sa.UniqueConstraint("worker", "device_id", "unit", name="uq_runners_worker_device_id_unit"),
        sa.ForeignKeyConstraint(["device_id"], ["devices.id"], name="fk_runners_device_id"),
    )
    op.create_index("ix_runners_device_id", "runners", ["device_id"])


def make_jobs() -> None:
    """Training jobs, the queue, and what a search finds out."""
    op.create_table(
        "runs",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("pinned_revision", sa.BigInteger()),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("ended_at", sa.Double()),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
        sa.UniqueConstraint("tenant_id", "name", name="uq_runs_tenant_id_name"),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name="fk_runs_tenant_id"),
    )

    op.create_table(
        "jobs",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kernel_id", sa.Integer(), nullable=False),
        sa.Column("device_key", sa.String(64), nullable=False),
        sa.Column("variables", sa.Text(), nullable=False),
        sa.Column("state", sa.String(24), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("effort", sa.String(16), nullable=False),
        sa.Column("budget_s", sa.Double(), nullable=False),
        sa.Column("max_trials", sa.Integer(), nullable=False),
        sa.Column("action_set", sa.String(64), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("labels", sa.JSON(), nullable=False),
        sa.Column("run_id", sa.Integer()),
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("started_at", sa.Double()),
        sa.Column("ended_at", sa.Double()),
        sa.Column("expires_at", sa.Double()),
        sa.Column("lease_expires_at", sa.Double()),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("releases", sa.BigInteger(), nullable=False),
        sa.Column("worker", sa.Text()),
        sa.Column("trials", sa.Integer(), nullable=False),
        sa.Column("generations", sa.Integer(), nullable=False),
        sa.Column("spent_s", sa.Double(), nullable=False),
        sa.Column("baseline_s", sa.Double()),
        sa.Column("best_s", sa.Double()),
        sa.Column("best_opts", sa.JSON()),
        sa.Column("record_id", sa.Integer()),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
        sa.ForeignKeyConstraint(["kernel_id"], ["kernels.id"], name="fk_jobs_kernel_id"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_jobs_run_id"),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name="fk_jobs_tenant_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_jobs_claim", "jobs", ["device_key", "state", "priority", "id"])
    op.create_index("ix_jobs_state_id", "jobs", ["state", "id"])
    op.create_index(
        "uq_jobs_active",
        "jobs",
        ["kernel_id", "device_key", "variables"],
        unique=True,
        sqlite_where=sa.text(ACTIVE),
        postgresql_where=sa.text(ACTIVE),
    )

    op.create_table(
        "generations",
        sa.Column("job_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("beam", sa.JSON(), nullable=False),
        sa.Column("candidates", sa.Integer(), nullable=False),
        sa.Column("tried", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("job_id", "number", name="pk_generations"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_generations_job_id"),
    )

    op.create_table(
        "trials",
        sa.Column("id", BIG_ID, nullable=False),
        sa.Column("job_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("candidate_key", sa.String(64), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("opts", sa.JSON(), nullable=False),
        sa.Column("outcome", sa.String(24), nullable=False),
        sa.Column("reason", sa.String(500), nullable=False),
        sa.Column("time_s", sa.Double()),
        sa.Column("samples", sa.Integer(), nullable=False),
        sa.Column("numerics", sa.String(24)),
        sa.Column("build_s", sa.Double(), nullable=False),
        sa.Column("spent_s", sa.Double(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_trials"),
        sa.UniqueConstraint("job_id", "number", name="uq_trials_job_id_number"),
        sa.UniqueConstraint("job_id", "candidate_key", name="uq_trials_job_id_candidate_key"),
        sa.CheckConstraint("(outcome = 'ok') = (time_s IS NOT NULL)", name=op.f("ck_trials_timed")),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_trials_job_id"),
    )


def make_answers() -> None:
    """Records and their numbered events."""
    op.create_table(
        "records",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kernel_id", sa.Integer(), nullable=False),
        sa.Column("device_key", sa.String(64), nullable=False),
        sa.Column("variables", sa.Text(), nullable=False),
        sa.Column("numerics", sa.String(24), nullable=False),
        sa.Column("fingerprint_digest", sa.String(64), nullable=False),
        sa.Column("method", sa.String(64), nullable=False),
        sa.Column("codegen_version", sa.Integer(), nullable=False),
        sa.Column("action_set", sa.String(64), nullable=False),
        sa.Column("effort", sa.String(16), nullable=False),
        sa.Column("budget_s", sa.Double(), nullable=False),
        sa.Column("max_trials", sa.Integer(), nullable=False),
        sa.Column("opts", sa.JSON(), nullable=False),
        sa.Column("shape", sa.Text(), nullable=False),
        sa.Column("program", sa.JSON(), nullable=False),
        sa.Column("time_s", sa.Double(), nullable=False),
        sa.Column("time_low_s", sa.Double(), nullable=False),
        sa.Column("time_high_s", sa.Double(), nullable=False),
        sa.Column("samples_s", sa.JSON(), nullable=False),
        sa.Column("baseline_opts", sa.JSON(), nullable=False),
        sa.Column("baseline_s", sa.Double(), nullable=False),
        sa.Column("baseline_samples_s", sa.JSON(), nullable=False),
        sa.Column("ratio", sa.Double(), nullable=False),
        sa.Column("ratio_low", sa.Double(), nullable=False),
        sa.Column("ratio_high", sa.Double(), nullable=False),
        sa.Column("verification", sa.JSON(), nullable=False),
        sa.Column("provenance", sa.JSON(), nullable=False),
        sa.Column("is_heuristic", sa.Boolean(), nullable=False),
        sa.Column("portable", sa.Boolean(), nullable=False),
        sa.Column("complete", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Integer()),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_records"),
        sa.ForeignKeyConstraint(["kernel_id"], ["kernels.id"], name="fk_records_kernel_id"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_records_job_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_records_kernel_id_device_key_variables", "records", ["kernel_id", "device_key", "variables"])

    op.create_table(
        "events",
        sa.Column("revision", BIG_ID, autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("record_id", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("revision", name="pk_events"),
        sa.ForeignKeyConstraint(["record_id"], ["records.id"], name="fk_events_record_id"),
    )
    op.create_index("ix_events_record_id", "events", ["record_id"])


def make_effects() -> None:
    """What was saved, and who did what."""
    op.create_table(
        "effects",
        sa.Column("id", BIG_ID, nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("record_id", sa.Integer(), nullable=False),
        sa.Column("calls", sa.BigInteger(), nullable=False),
        sa.Column("baseline_s", sa.Double(), nullable=False),
        sa.Column("time_s", sa.Double(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_effects"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_effects_run_id"),
        sa.ForeignKeyConstraint(["record_id"], ["records.id"], name="fk_effects_record_id"),
    )
    op.create_index("ix_effects_run_id", "effects", ["run_id"])

    op.create_table(
        "audit",
        sa.Column("id", BIG_ID, nullable=False),
        sa.Column("tenant_id", sa.Integer()),
        sa.Column("token_id", sa.Integer()),
        sa.Column("action", sa.String(64), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit"),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name="fk_audit_tenant_id"),
        sa.ForeignKeyConstraint(["token_id"], ["tokens.id"], name="fk_audit_token_id"),
    )
    op.create_index("ix_audit_created_at", "audit", ["created_at"])
