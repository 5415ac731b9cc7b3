"""Every table, as SQLAlchemy Core metadata. migrations/ makes exactly these; a test compares the two.

Columns that end in `_at` are moments: seconds since 1970 in UTC. Those that end in `_s` are durations in seconds. Both
are double precision, which holds a moment to a microsecond. No column holds NaN or an infinity. JSON is plain JSON.

    tenants, tokens                     who asks (all is the tenant "default" for now)
    kernels, kernel_tenants, known_as   what was sent, by whom, and under which bytes
    devices, fingerprints, runners      kinds of device, their versions, and the processes that hold one
    jobs, generations, trials           the queue, and all that a search has found out: small rows, many
    records, events                     answers, and the numbered changes of answers: both only ever added to
    runs, effects, audit                training jobs, what they saved, and who did what
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from service.job_states import ACTIVE_STATES

#: Every constraint has a name, so that a later migration can speak of it.
NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}

#: SQLite numbers rows by itself in columns of the type INTEGER alone.
BigId = BigInteger().with_variant(Integer, "sqlite")

#: A SHA-256 in hexadecimal.
Digest = String(64)

_ACTIVE = "state IN (" + ", ".join(f"'{state}'" for state in ACTIVE_STATES) + ")"

metadata = MetaData(naming_convention=NAMING)

# ---- who asks --------------------------------------------------------------------------------------------------------

tenants = Table(
    "tenants",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(64), nullable=False, unique=True),
    Column("is_private", Boolean, nullable=False),
    Column("created_at", Double, nullable=False),
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("tenant_id", ForeignKey("tenants.id"), nullable=False),
    Column("digest", Digest, nullable=False, unique=True),
    Column("name", String(64), nullable=False),
    Column("scope", String(16), nullable=False),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double),
    Column("revoked_at", Double),
)

# ---- kernels ---------------------------------------------------------------------------------------------------------

kernels = Table(
    "kernels",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("key", Digest, nullable=False, unique=True),  # ast_key
    Column("name", Text, nullable=False),  # of the unoptimised kernel, for people
    Column("ast", Text, nullable=False),  # kernel-ast/1; its variables are v0, v1, ... by the part they play
    Column("created_at", Double, nullable=False),
)

kernel_tenants = Table(
    "kernel_tenants",
    metadata,
    Column("kernel_id", ForeignKey("kernels.id"), primary_key=True),
    Column("tenant_id", ForeignKey("tenants.id"), primary_key=True),
    Column("created_at", Double, nullable=False),
)

known_as = Table(
    "known_as",
    metadata,
    Column("digest", Digest, primary_key=True),  # SHA-256 of the very bytes that an AST was sent as
    Column("kernel_id", ForeignKey("kernels.id"), nullable=False),
    Column("created_at", Double, nullable=False),
)

# ---- devices ---------------------------------------------------------------------------------------------------------

devices = Table(
    "devices",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("key", Digest, nullable=False, unique=True),  # device_key
    Column("backend", Text, nullable=False),
    Column("vendor", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("arch", Text, nullable=False),
    Column("compute_units", Integer, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("limits", JSON, nullable=False),  # runners.api.DeviceLimits, as last seen
    Column("fingerprint_digest", Digest, nullable=False),  # as last seen
    Column("created_at", Double, nullable=False),
)

fingerprints = Table(
    "fingerprints",
    metadata,
    Column("device_id", ForeignKey("devices.id"), primary_key=True),
    Column("digest", Digest, primary_key=True),
    Column("driver", Text, nullable=False),
    Column("platform", Text, nullable=False),
    Column("compiler", Text, nullable=False),
    Column("created_at", Double, nullable=False),
)

runners = Table(
    "runners",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("device_id", ForeignKey("devices.id"), nullable=False),
    Column("unit", Integer, nullable=False),
    Column("worker", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("started_at", Double, nullable=False),
    Column("heartbeat_at", Double, nullable=False),
    Column("stopped_at", Double),
    UniqueConstraint("worker", "device_id", "unit"),
    Index(None, "device_id"),
)

# ---- work ------------------------------------------------------------------------------------------------------------

runs = Table(
    "runs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("tenant_id", ForeignKey("tenants.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("pinned_revision", BigInteger),
    Column("created_at", Double, nullable=False),
    Column("ended_at", Double),
    UniqueConstraint("tenant_id", "name"),
)

jobs = Table(
    "jobs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("kernel_id", ForeignKey("kernels.id"), nullable=False),
    Column("device_key", Digest, nullable=False),  # no foreign key: may be a device that has no runner yet
    Column("variables", Text, nullable=False),  # canonical JSON by v0, v1, ...; "{}" where sizes are static
    Column("state", String(24), nullable=False),
    Column("reason", Text),  # why it waits, or why it ended as it did
    Column("effort", String(16), nullable=False),
    Column("budget_s", Double, nullable=False),
    Column("max_trials", Integer, nullable=False),
    Column("action_set", String(64), nullable=False),
    Column("priority", Integer, nullable=False),
    Column("labels", JSON, nullable=False),
    Column("run_id", ForeignKey("runs.id")),
    Column("tenant_id", ForeignKey("tenants.id"), nullable=False),
    Column("created_at", Double, nullable=False),
    Column("started_at", Double),  # when it was first claimed
    Column("ended_at", Double),
    Column("expires_at", Double),  # of a job that waits for a runner
    Column("lease_expires_at", Double),  # of a running job
    Column("fence", BigInteger, nullable=False),  # how often it was claimed: what a claim proves itself with
    Column("releases", BigInteger, nullable=False),  # claims that a worker gave back in order
    Column("worker", Text),  # who claimed it last
    Column("trials", Integer, nullable=False),
    Column("generations", Integer, nullable=False),
    Column("spent_s", Double, nullable=False),
    Column("baseline_s", Double),
    Column("best_s", Double),
    Column("best_opts", JSON),
    Column("record_id", Integer),  # of records, whose job_id points back; no foreign key, which would make a circle
    Index("ix_jobs_claim", "device_key", "state", "priority", "id"),
    Index(None, "state", "id"),
    Index(
        "uq_jobs_active",
        "kernel_id",
        "device_key",
        "variables",
        unique=True,
        sqlite_where=text(_ACTIVE),
        postgresql_where=text(_ACTIVE),
    ),
    sqlite_autoincrement=True,
)

generations = Table(
    "generations",
    metadata,
    Column("job_id", ForeignKey("jobs.id"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("beam", JSON, nullable=False),  # [[opts, time_s], ...], best first
    Column("candidates", Integer, nullable=False),
    Column("tried", Integer, nullable=False),
    Column("created_at", Double, nullable=False),
)

trials = Table(
    "trials",
    metadata,
    Column("id", BigId, primary_key=True),
    Column("job_id", ForeignKey("jobs.id"), nullable=False),
    Column("number", Integer, nullable=False),  # within the job, from 1, without a gap
    Column("candidate_key", Digest, nullable=False),
    Column("generation", Integer, nullable=False),
    Column("opts", JSON, nullable=False),
    Column("outcome", String(24), nullable=False),
    Column("reason", String(500), nullable=False),
    Column("time_s", Double),
    Column("samples", Integer, nullable=False),
    Column("numerics", String(24)),
    Column("build_s", Double, nullable=False),
    Column("spent_s", Double, nullable=False),
    Column("created_at", Double, nullable=False),
    UniqueConstraint("job_id", "number"),
    UniqueConstraint("job_id", "candidate_key"),
    CheckConstraint("(outcome = 'ok') = (time_s IS NOT NULL)", name="timed"),
)

# ---- answers ---------------------------------------------------------------------------------------------------------

records = Table(
    "records",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("kernel_id", ForeignKey("kernels.id"), nullable=False),
    Column("device_key", Digest, nullable=False),
    Column("variables", Text, nullable=False),
    Column("numerics", String(24), nullable=False),
    Column("fingerprint_digest", Digest, nullable=False),
    Column("method", String(64), nullable=False),
    Column("codegen_version", Integer, nullable=False),
    Column("action_set", String(64), nullable=False),
    Column("effort", String(16), nullable=False),
    Column("budget_s", Double, nullable=False),
    Column("max_trials", Integer, nullable=False),
    Column("opts", JSON, nullable=False),
    Column("shape", Text, nullable=False),  # after the opts: "B128 C16 R512 Y4"
    Column("program", JSON, nullable=False),
    Column("time_s", Double, nullable=False),
    Column("time_low_s", Double, nullable=False),
    Column("time_high_s", Double, nullable=False),
    Column("samples_s", JSON, nullable=False),
    Column("baseline_opts", JSON, nullable=False),
    Column("baseline_s", Double, nullable=False),
    Column("baseline_samples_s", JSON, nullable=False),
    Column("ratio", Double, nullable=False),
    Column("ratio_low", Double, nullable=False),
    Column("ratio_high", Double, nullable=False),
    Column("verification", JSON, nullable=False),
    Column("provenance", JSON, nullable=False),
    Column("is_heuristic", Boolean, nullable=False),
    Column("portable", Boolean, nullable=False),
    Column("complete", Boolean, nullable=False),
    Column("reason", Text, nullable=False),
    Column("job_id", ForeignKey("jobs.id")),
    Column("created_at", Double, nullable=False),
    Index(None, "kernel_id", "device_key", "variables"),
    sqlite_autoincrement=True,
)

events = Table(
    "events",
    metadata,
    Column("revision", BigId, primary_key=True, autoincrement=False),  # from 1, without a gap, in the order of commits
    Column("kind", String(16), nullable=False),  # "record"; later also withdrawal, import, confirmation
    Column("record_id", ForeignKey("records.id"), nullable=False),
    Column("created_at", Double, nullable=False),
    Index(None, "record_id"),
)

# ---- effects ---------------------------------------------------------------------------------------------------------

effects = Table(
    "effects",
    metadata,
    Column("id", BigId, primary_key=True),
    Column("run_id", ForeignKey("runs.id"), nullable=False),
    Column("record_id", ForeignKey("records.id"), nullable=False),
    Column("calls", BigInteger, nullable=False),
    Column("baseline_s", Double, nullable=False),
    Column("time_s", Double, nullable=False),
    Column("created_at", Double, nullable=False),
    Index(None, "run_id"),
)

audit = Table(
    "audit",
    metadata,
    Column("id", BigId, primary_key=True),
    Column("tenant_id", ForeignKey("tenants.id")),
    Column("token_id", ForeignKey("tokens.id")),
    Column("action", String(64), nullable=False),
    Column("subject", Text, nullable=False),
    Column("detail", JSON, nullable=False),
    Column("created_at", Double, nullable=False),
    Index(None, "created_at"),
)
