"""Kernels as they were sent."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, select
from sqlalchemy.dialects.sqlite import insert

from service.models import kernel_tenants, kernels, known_as


@dataclass(frozen=True, slots=True)
class StoredKernel:
    """A kernel. ast: the JSON text of kernel-ast/1, its variables called v0, v1, ..."""

    id: int
    key: str
    name: str
    ast: str


def find_kernel(connection: Connection, key: str) -> StoredKernel | None:
    """The kernel of an ast_key."""
    query = select(kernels.c.id, kernels.c.key, kernels.c.name, kernels.c.ast).where(kernels.c.key == key)
    row = connection.execute(query).one_or_none()
    return None if row is None else StoredKernel(*row)


def add_kernel(connection: Connection, key: str, name: str, ast: str, now: float) -> int:
    """The id of the kernel of `key`, which is added where it is new."""
    new = insert(kernels).values(key=key, name=name, ast=ast, created_at=now).on_conflict_do_nothing()
    connection.execute(new)
    kernel_id: int = connection.execute(select(kernels.c.id).where(kernels.c.key == key)).scalar_one()
    return kernel_id


def is_known_as(connection: Connection, digest: str, kernel_id: int, tenant_id: int) -> bool:
    """True where this tenant has sent the kernel before, and somebody under the very same bytes."""
    sent = select(kernel_tenants.c.kernel_id).where(
        kernel_tenants.c.kernel_id == kernel_id, kernel_tenants.c.tenant_id == tenant_id
    )
    bytes_known = select(known_as.c.digest).where(known_as.c.digest == digest)
    return connection.execute(sent).first() is not None and connection.execute(bytes_known).first() is not None


def remember_sender(connection: Connection, kernel_id: int, tenant_id: int, digest: str, now: float) -> None:
    """Note who sent a kernel, and under which bytes."""
    sender = {"kernel_id": kernel_id, "tenant_id": tenant_id, "created_at": now}
    connection.execute(insert(kernel_tenants).values(sender).on_conflict_do_nothing())
    alias = {"digest": digest, "kernel_id": kernel_id, "created_at": now}
    connection.execute(insert(known_as).values(alias).on_conflict_do_nothing())
