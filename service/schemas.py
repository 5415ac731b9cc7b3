"""What requests may hold, and what answers look like. Unknown fields are refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Discriminator, Field, StringConstraints, Tag, model_validator

from search.settings import Effort
from service.documents import variables_from_text
from service.job_states import JobState
from service.repositories.jobs import StoredJob
from service.repositories.records import RecordDetail, StoredRecord

Key = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Number = Annotated[int, Field(ge=1, le=2**63 - 1)]
ShortText = Annotated[str, StringConstraints(max_length=256)]
LabelName = Annotated[str, StringConstraints(min_length=1, max_length=64)]
OptDocument = dict[str, Any]


class Asked(BaseModel):
    """A part of a request."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Answered(BaseModel):
    """A part of an answer."""

    model_config = ConfigDict(frozen=True)


# ---- requests --------------------------------------------------------------------------------------------------------


class AskedDevice(Asked):
    """A kind of device by what it is, for those who have no device_key."""

    backend: ShortText
    vendor: ShortText
    name: ShortText
    arch: ShortText = ""
    compute_units: Annotated[int, Field(ge=0, le=2**31 - 1)]


class AskedBudget(Asked):
    """How much may be spent: seconds of a device, candidates, or both."""

    device_seconds: Annotated[float, Field(ge=0.001, le=86400)] | None = None
    trials: Annotated[int, Field(ge=1, le=100_000)] | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.device_seconds is None and self.trials is None:
            raise ValueError("a budget names device_seconds, trials or both")
        return self


def _device_form(value: object) -> str:
    """Which form of a device is meant, so that what is wrong with it is said of that form."""
    return "device" if isinstance(value, dict | AskedDevice) else "device_key"


class SubmitOptions(Asked):
    """All of a submit but the AST."""

    device: (
        Annotated[
            Annotated[Key, Tag("device_key")] | Annotated[AskedDevice, Tag("device")], Discriminator(_device_form)
        ]
        | None
    ) = None
    effort: Annotated[Effort, Field(strict=False)] | None = None
    budget: AskedBudget | None = None
    variables: Annotated[dict[str, int], Field(max_length=64)] | None = None
    labels: Annotated[dict[LabelName, ShortText], Field(max_length=16)] = {}
    priority: Annotated[int, Field(ge=-100, le=100)] = 0

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if self.effort is not None and self.budget is not None:
            raise ValueError("give effort or budget, not both")
        return self


class SubmitRequest(SubmitOptions):
    """A submit as the interface's description shows it. The AST is read by its own rules."""

    ast: dict[str, Any]


class JobsQuery(BaseModel):
    """Which jobs to list: newest first, below the number `before`."""

    model_config = ConfigDict(extra="forbid")

    state: list[JobState] = []
    limit: Annotated[int, Field(ge=1, le=500)] = 100
    before: Number | None = None


class TrialsQuery(BaseModel):
    """Which trials of a job to list: in order, above the number `after`."""

    model_config = ConfigDict(extra="forbid")

    after: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    limit: Annotated[int, Field(ge=1, le=1000)] = 100


class BestQuery(BaseModel):
    """Which answer is wanted: on which device, and, as JSON, at which values of the kernel's variables v0, v1, ..."""

    model_config = ConfigDict(extra="forbid")

    device: Key | None = None
    variables: Annotated[str, StringConstraints(max_length=4096)] | None = None


# ---- answers ---------------------------------------------------------------------------------------------------------


class JobAnswer(Answered):
    """A job. Moments are seconds since 1970 in UTC. `best_opts` and `best_s` are of the search so far."""

    id: int
    key: str
    kernel: str
    device: str
    variables: dict[str, int]
    state: JobState
    reason: str | None
    effort: str
    budget_s: float
    max_trials: int
    action_set: str
    priority: int
    labels: dict[str, str]
    created_at: float
    started_at: float | None
    ended_at: float | None
    expires_at: float | None
    worker: str | None
    trials: int
    generations: int
    spent_s: float
    baseline_s: float | None
    best_s: float | None
    best_opts: list[OptDocument] | None
    record: int | None

    @classmethod
    def of(cls, job: StoredJob) -> Self:
        """The answer for a stored job."""
        taken = {name: getattr(job, name) for name in cls.model_fields if hasattr(job, name)}
        variables = variables_from_text(job.variables)
        return cls(**{**taken, "variables": variables, "device": job.device_key, "record": job.record_id})


class JobsAnswer(Answered):
    """Jobs, newest first. next_before: what to ask with for those after them; None where there are no more."""

    jobs: list[JobAnswer]
    next_before: int | None


class TrialAnswer(Answered):
    """A trial. time_s: the median, None unless its outcome is ok."""

    number: int
    generation: int
    opts: list[OptDocument]
    outcome: str
    reason: str
    time_s: float | None
    samples: int
    numerics: str | None
    build_s: float
    spent_s: float
    created_at: float


class TrialsAnswer(Answered):
    """Trials in order. next_after: what to ask with for those after them; None where there are no more."""

    trials: list[TrialAnswer]
    next_after: int | None


class RecordAnswer(Answered):
    """An answer that was measured. `ratio` is time over the heuristic's time, in pairs; `speedup` its inverse."""

    id: int
    revision: int
    key: str
    kernel: str
    device: str
    variables: dict[str, int]
    opts: list[OptDocument]
    shape: str
    time_s: float
    interval_s: tuple[float, float]
    baseline_opts: list[OptDocument]
    baseline_s: float
    ratio: float
    ratio_interval: tuple[float, float]
    speedup: float
    numerics: str
    verification: dict[str, Any]
    method: str
    codegen_version: int
    action_set: str
    effort: str
    budget_s: float
    max_trials: int
    is_heuristic: bool
    portable: bool
    complete: bool
    reason: str
    job: int | None
    created_at: float

    @classmethod
    def of(cls, record: StoredRecord, variables: Mapping[str, int] | None = None) -> Self:
        """The answer for a stored record, its variables under the names of whoever asks where these are given."""
        taken = {name: getattr(record, name) for name in cls.model_fields if hasattr(record, name)}
        values = variables_from_text(record.variables) if variables is None else dict(variables)
        return cls(
            **{
                **taken,
                "variables": values,
                "device": record.device_key,
                "interval_s": (record.time_low_s, record.time_high_s),
                "ratio_interval": (record.ratio_low, record.ratio_high),
                "speedup": 1 / record.ratio,
                "job": record.job_id,
            }
        )


class RecordDetailAnswer(RecordAnswer):
    """Everything of a record: its program, its samples (equal places are pairs), and where it comes from too."""

    program: dict[str, Any]
    samples_s: list[float]
    baseline_samples_s: list[float]
    provenance: dict[str, Any]

    @classmethod
    def with_detail(cls, record: StoredRecord, detail: RecordDetail) -> Self:
        """The answer for a stored record."""
        return cls(
            **RecordAnswer.of(record).model_dump(),
            program=detail.program,
            samples_s=detail.samples_s,
            baseline_samples_s=detail.baseline_samples_s,
            provenance=detail.provenance,
        )


class BestAnswer(Answered):
    """The best opts known. tier: how far they hold for the device that was named (`differs`: what does not fit)."""

    key: str
    device: str | None
    tier: Literal["exact", "suspect", "none"]
    differs: list[str]
    opts: list[OptDocument] | None
    shape: str | None
    record: RecordAnswer | None
    reason: str | None


class SubmitAnswer(Answered):
    """What a submit gets at once. source: whose opts these are; `job`: what will find better ones."""

    key: str
    device: str
    variables: dict[str, int]
    tier: Literal["exact", "suspect", "none"]
    differs: list[str]
    opts: list[OptDocument] | None
    source: Literal["record", "heuristic"] | None
    shape: str | None
    record: RecordAnswer | None
    job: JobAnswer | None
    reason: str | None


class RunnerAnswer(Answered):
    """A process that holds one device."""

    worker: str
    host: str
    pid: int
    unit: int
    state: Literal["online", "offline"]
    heartbeat_at: float


class DeviceAnswer(Answered):
    """A kind of device that a runner is or was there for."""

    key: str
    identity: dict[str, Any]
    kind: str
    fingerprint: dict[str, str]
    limits: dict[str, Any]
    state: Literal["online", "offline"]
    runners: list[RunnerAnswer]


class DevicesAnswer(Answered):
    """Every kind of device that is known."""

    devices: list[DeviceAnswer]


class HealthAnswer(Answered):
    """The service and its database work. revision: the number of the newest event."""

    status: Literal["ok"]
    version: str
    revision: int


class ErrorBody(Answered):
    """What is wrong. rule, node: of an AST. field: of a request."""

    code: str
    message: str
    rule: str | None = None
    node: int | None = None
    field: str | None = None


class ErrorAnswer(Answered):
    """The form of every error."""

    error: ErrorBody
