"""A kernel is sent: the best opts known now, and a job that finds better ones where that is worth it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from sqlalchemy import Connection

from kernels import Ast, Kernel, ProgramError, ast_key, dump_ast, opencl_target, parse_ast_json
from service.database import Database
from service.documents import opts_from_wire, opts_to_wire, shape_of, variables_to_text
from service.errors import RequestError
from service.http_body import members_of, strict_value
from service.job_states import JobState
from service.repositories.devices import StoredDevice
from service.repositories.jobs import JobRequest, StoredJob, add_job, find_active_job, find_job, raise_job
from service.repositories.kernels import add_kernel, find_kernel, is_known_as, remember_sender
from service.schemas import JobAnswer, OptDocument, RecordAnswer, SubmitAnswer, SubmitOptions
from service.use_cases.asked import (
    AskedWork,
    asked_device,
    asked_values,
    asked_work,
    canonical_variables,
    with_canonical_variables,
)
from service.use_cases.standing import Standing, find_standing, satisfies
from service.work_estimate import check_work

#: Everybody, as long as there are no tokens.
DEFAULT_TENANT = 1
NO_RUNNER = "no runner of this kind"
#: Limits of a target that no Opt gets around.
_UNSUPPORTED = frozenset({"backend", "fp16", "fp64"})


@dataclass(frozen=True, slots=True)
class _Submission:
    """A submit that is understood. variables: canonical JSON; values: the same under the names that were sent."""

    ast: Ast
    key: str
    digest: str
    options: SubmitOptions
    work: AskedWork
    values: dict[str, int]
    variables: str
    device_key: str
    device: StoredDevice | None


def submit(database: Database, body: bytes, waiting_expires_s: float, now: float) -> SubmitAnswer:
    """Answer a submit. `job` is None where a record satisfies it already: then nothing is queued.

    Otherwise the answer has the heuristic's opts, or those of a record that does not do, and the one job that there is
    of this kernel on this device at these values, however many ask at once. A kernel that the device cannot compute at
    all has no opts and no job, and the reason. Raises AstError, RequestError and
    DatabaseError; then nothing is changed.
    """
    ast, digest, options = _read(body)
    check_work(ast)
    key = ast_key(ast)
    values = asked_values(ast, options.variables)
    names = canonical_variables(ast)
    variables = variables_to_text({names[name]: value for name, value in values.items()})
    with database.reading() as connection:
        device_key, device = asked_device(connection, options.device)
        submission = _Submission(ast, key, digest, options, asked_work(options), values, variables, device_key, device)
        satisfied = _known_answer(connection, submission)
    if satisfied is not None:
        return satisfied
    kernel = Kernel(ast, opencl_target() if device is None else device.info.target)
    unsupported = None if device is None else _unsupported(kernel)
    if unsupported is not None:
        return _answer(submission, None, None, None).model_copy(update={"reason": unsupported})
    with database.writing() as connection:
        standing, job = _queue(connection, submission, kernel.name, waiting_expires_s, now)
    return _answer(submission, kernel, standing, job)


def _unsupported(kernel: Kernel) -> str | None:
    """Why a device can compute this kernel with no Opts whatever; None where it may."""
    try:
        kernel.to_program()
    except ProgramError as error:
        return error.message if error.limit in _UNSUPPORTED else None
    return None


def _read(body: bytes) -> tuple[Ast, str, SubmitOptions]:
    """The AST, the SHA-256 of the bytes that it was sent as, and the rest."""
    members = members_of(body)
    ast_text = members.pop("ast", None)
    options = SubmitOptions.model_validate({name: strict_value(text) for name, text in members.items()})
    if ast_text is None:
        raise RequestError("a submit holds an ast", "ast")
    return parse_ast_json(ast_text), hashlib.sha256(ast_text.encode()).hexdigest(), options


def _known_answer(connection: Connection, submission: _Submission) -> SubmitAnswer | None:
    """The answer where nothing has to be written for it."""
    stored = find_kernel(connection, submission.key)
    if stored is None or not is_known_as(connection, submission.digest, stored.id, DEFAULT_TENANT):
        return None
    standing = _standing(connection, submission, stored.id)
    if standing is None or not satisfies(standing, submission.work):
        return None
    return _answer(submission, None, standing, None)


def _standing(connection: Connection, submission: _Submission, kernel_id: int) -> Standing | None:
    return find_standing(connection, kernel_id, submission.device_key, submission.device, submission.variables)


def _queue(
    connection: Connection, submission: _Submission, name: str, waiting_expires_s: float, now: float
) -> tuple[Standing | None, StoredJob | None]:
    """The current record, and the job; no job where a record satisfies the submit by now."""
    document = json.dumps(dump_ast(with_canonical_variables(submission.ast)), separators=(",", ":"))
    kernel_id = add_kernel(connection, submission.key, name, document, now)
    remember_sender(connection, kernel_id, DEFAULT_TENANT, submission.digest, now)
    standing = _standing(connection, submission, kernel_id)
    if standing is not None and satisfies(standing, submission.work):
        return standing, None
    request = _job_request(submission, kernel_id, now + waiting_expires_s)
    job = find_active_job(connection, kernel_id, submission.device_key, submission.variables)
    if job is None:
        job_id = add_job(connection, request, now)
    else:
        job_id = job.id
        raise_job(connection, job, request)
    return standing, find_job(connection, job_id)


def _job_request(submission: _Submission, kernel_id: int, expires_at: float) -> JobRequest:
    work, options = submission.work, submission.options
    waits = submission.device is None
    return JobRequest(
        kernel_id=kernel_id,
        device_key=submission.device_key,
        variables=submission.variables,
        state=JobState.WAITING_FOR_RUNNER if waits else JobState.QUEUED,
        reason=NO_RUNNER if waits else None,
        effort=work.effort,
        budget_s=work.budget_s,
        max_trials=work.max_trials,
        action_set=work.action_set,
        priority=options.priority,
        labels=dict(options.labels),
        tenant_id=DEFAULT_TENANT,
        expires_at=expires_at if waits else None,
    )


def _answer(
    submission: _Submission, kernel: Kernel | None, standing: Standing | None, job: StoredJob | None
) -> SubmitAnswer:
    record = None if standing is None else standing.record
    answer = SubmitAnswer(
        key=submission.key,
        device=submission.device_key,
        variables=submission.values,
        tier="none" if standing is None else "exact" if standing.is_exact else "suspect",
        differs=[] if standing is None else list(standing.differs),
        opts=None if record is None else record.opts,
        source=None if record is None else "record",
        shape=None if record is None else _shape(submission, record.opts, record.shape),
        record=None if record is None else RecordAnswer.of(record, submission.values),
        job=None if job is None else JobAnswer.of(job),
        reason=NO_RUNNER if submission.device is None else None,
    )
    if record is not None or submission.device is None or kernel is None:
        return answer
    kernel.default_opts()
    heuristic = {"opts": opts_to_wire(kernel.applied_opts), "source": "heuristic", "shape": shape_of(kernel)}
    return answer.model_copy(update=heuristic)


def _shape(submission: _Submission, opts: list[OptDocument], stored: str) -> str:
    """The shape after a record's opts, under the names that the AST was sent with."""
    if not submission.ast.variables or submission.device is None:
        return stored
    kernel = Kernel(submission.ast, submission.device.info.target)
    for opt in opts_from_wire(opts):
        kernel.apply_opt(opt)
    return shape_of(kernel)
