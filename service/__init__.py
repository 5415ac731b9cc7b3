"""The service: HTTP interface, database, queue of jobs, live page and command line."""

#: What records, logs and the interface say of themselves; the same as in pyproject.toml.
BEAMTUNE_VERSION = "0.1.0"
