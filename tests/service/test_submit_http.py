"""POST /v1/kernels: what comes back, and what is queued."""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from kernels import ast_key, build, dump_ast, parse_ast
from service.database import Database
from service.database_version import open_database
from service.job_queue import JobQueue
from service.models import known_as
from tests.kernels.documents import corpus
from tests.service import made
from tests.service.conftest import row_counts
from tests.service.made import DEVICE, PROVENANCE, START, answer
from tests.service.servers import Service, running_here, url_of

KEY = DEVICE.device_key


def tuned(queue: JobQueue, **changes: Any) -> int:
    """End the job that is queued with an answer; the record's number."""
    job = queue.claim([KEY], "worker-1", START)
    assert job is not None
    record = queue.finish(job.id, job.fence, answer(job.ast, **changes), "", PROVENANCE, START)
    assert record is not None
    return record


# ---- what comes back -------------------------------------------------------------------------------------------------


def test_a_new_kernel_gets_the_heuristic_and_a_job(service: Service) -> None:
    response = service.submit(made.matmul(), labels={"name": "gemm"}, effort="quick")
    assert response.status_code == 202
    body = response.json()
    kernel_answer = answer(parse_ast(made.matmul()), heuristic=True)
    assert body["opts"] == [opt.to_wire() for opt in kernel_answer.opts]
    assert (body["source"], body["tier"], body["record"]) == ("heuristic", "none", None)
    assert body["key"] == ast_key(parse_ast(made.matmul()))
    assert body["device"] == KEY
    assert body["shape"] == "B2 C8 C16 R16 Y4 Y4 M4"
    job = body["job"]
    assert (job["state"], job["effort"], job["budget_s"], job["labels"]) == ("queued", "quick", 5.0, {"name": "gemm"})
    assert service.get(f"/v1/jobs/{job['id']}").json() == job


def test_fifty_clients_at_once_make_one_job(service: Service, database: Database) -> None:
    documents = [made.matmul(), made.renumbered(made.matmul())]
    with ThreadPoolExecutor(50) as clients:
        responses = list(clients.map(lambda n: service.submit(documents[n % 2]), range(50)))
    assert {response.status_code for response in responses} == {202}
    assert {response.json()["job"]["id"] for response in responses} == {1}
    counts = row_counts(database)
    assert (counts["jobs"], counts["kernels"], counts["kernel_tenants"], counts["known_as"]) == (1, 1, 1, 2)


def test_a_record_satisfies_and_nothing_is_queued(service: Service, queue: JobQueue, database: Database) -> None:
    service.submit(made.matmul())
    record = tuned(queue)
    before = row_counts(database)
    response = service.submit(made.matmul())
    assert response.status_code == 200
    body = response.json()
    assert (body["tier"], body["source"], body["job"]) == ("exact", "record", None)
    assert body["opts"] == [{"op": "UPCAST", "axis": 1, "arg": 4}]
    assert body["shape"] == "B64 B16 R64 Y4"
    assert body["record"]["id"] == record
    assert body["record"]["speedup"] == 2.0
    assert row_counts(database) == before


def test_a_record_of_the_heuristic_satisfies_too(service: Service, queue: JobQueue) -> None:
    service.submit(made.matmul())
    tuned(queue, heuristic=True, time_s=2e-3)
    response = service.submit(made.renumbered(made.matmul()))
    assert response.status_code == 200
    assert response.json()["record"]["is_heuristic"] is True


def test_the_bytes_of_an_ast_are_remembered(service: Service, database: Database) -> None:
    text = json.dumps(made.matmul(), indent=3)
    assert service.post_raw(f' {{ "effort" : "quick" , "ast" :\n{text} }} '.encode()).status_code == 202
    with database.reading() as connection:
        digests = list(connection.execute(select(known_as.c.digest)).scalars())
    assert digests == [hashlib.sha256(text.encode()).hexdigest()]


# ---- effort ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"effort": "quick"}, 200),
        ({}, 200),
        ({"effort": "thorough"}, 202),
        ({"budget": {"device_seconds": 30}}, 200),
        ({"budget": {"device_seconds": 31}}, 200),  # its search had come to its own end at this effort
        ({"budget": {"device_seconds": 300}}, 202),
        ({"budget": {"trials": 5}}, 200),
    ],
)
def test_effort_decides_whether_a_record_satisfies(
    service: Service, queue: JobQueue, asked: dict[str, Any], status: int
) -> None:
    service.submit(made.matmul(), effort="normal")
    record = tuned(queue)
    response = service.submit(made.matmul(), **asked)
    assert response.status_code == status
    body = response.json()
    assert (body["source"], body["record"]["id"]) == ("record", record)
    assert (body["job"] is None) is (status == 200)


def test_a_queued_job_is_raised_to_what_is_asked_for(service: Service, queue: JobQueue) -> None:
    service.submit(made.matmul(), effort="quick", priority=1)
    raised = service.submit(made.matmul(), effort="thorough", priority=-5).json()["job"]
    assert (raised["id"], raised["effort"], raised["budget_s"], raised["priority"]) == (1, "thorough", 300.0, 1)
    kept = service.submit(made.matmul(), effort="normal").json()["job"]
    assert (kept["id"], kept["effort"], kept["budget_s"]) == (1, "thorough", 300.0)
    assert queue.claim([KEY], "worker-1", START) is not None
    joined = service.submit(made.matmul(), budget={"device_seconds": 4000}).json()["job"]
    assert (joined["id"], joined["state"], joined["budget_s"]) == (1, "running", 300.0)


@pytest.mark.parametrize(
    ("budget", "effort", "budget_s", "max_trials"),
    [
        ({"device_seconds": 2.5}, "quick", 2.5, 1000),
        ({"device_seconds": 299, "trials": 7}, "normal", 299.0, 7),
        ({"device_seconds": 300}, "thorough", 300.0, 1000),
        ({"trials": 12}, "normal", 30.0, 12),
    ],
)
def test_a_budget_stands_for_the_effort_within_it(
    service: Service, budget: dict[str, Any], effort: str, budget_s: float, max_trials: int
) -> None:
    job = service.submit(made.matmul(), budget=budget).json()["job"]
    assert (job["effort"], job["budget_s"], job["max_trials"]) == (effort, budget_s, max_trials)


def test_a_cancelled_job_makes_room_for_the_next(service: Service) -> None:
    assert service.submit(made.matmul()).json()["job"]["id"] == 1
    assert service.cancel(1).json()["state"] == "cancelled"
    assert service.submit(made.matmul()).json()["job"]["id"] == 2


# ---- devices ---------------------------------------------------------------------------------------------------------


def test_an_unknown_device_gets_a_waiting_job_and_no_opts(service: Service, queue: JobQueue) -> None:
    response = service.submit(made.matmul(), device=made.UNKNOWN_KEY)
    assert response.status_code == 202
    body = response.json()
    assert (body["device"], body["opts"], body["source"], body["tier"]) == (made.UNKNOWN_KEY, None, None, "none")
    assert body["reason"] == "no runner of this kind"
    assert (body["job"]["state"], body["job"]["reason"]) == ("waiting_for_runner", "no runner of this kind")
    assert body["job"]["expires_at"] - body["job"]["created_at"] == pytest.approx(24 * 3600)
    assert queue.expire(body["job"]["expires_at"]) == [body["job"]["id"]]


def test_a_device_can_be_described(service: Service) -> None:
    identity = asdict(DEVICE.identity) | {"name": "  Made   CPU 9000 "}
    assert service.submit(made.matmul(), device=identity).json()["device"] == KEY
    other = service.submit(made.matmul(), device={**identity, "compute_units": 9}).json()
    assert (other["opts"], other["job"]["state"]) == (None, "waiting_for_runner")


def test_a_device_must_be_named_unless_exactly_one_is_known(database: Database, path: Path) -> None:
    with running_here(database) as service:
        response = service.submit(made.matmul())
        assert (response.status_code, response.json()["error"]["code"]) == (422, "device_required")
        queue = JobQueue(database)
        queue.register_runner(DEVICE, "worker-1", "host", 1, START)
        assert service.submit(made.matmul()).status_code == 202
        identity = type(DEVICE.identity)("opencl", "Made Devices", "Made GPU", "", 80)
        queue.register_runner(
            type(DEVICE)(identity, DEVICE.fingerprint, DEVICE.limits, DEVICE.kind), "w", "h", 2, START
        )
        response = service.submit(made.matmul())
        assert (response.status_code, response.json()["error"]["field"]) == (422, "device")
        assert KEY in response.json()["error"]["message"]


def test_a_record_of_another_driver_is_suspect_and_timed_again(service: Service, queue: JobQueue) -> None:
    service.submit(made.matmul())
    record = tuned(queue)
    queue.register_runner(made.with_fingerprint(DEVICE, "driver 2"), "worker-1", "host", 1, START)
    response = service.submit(made.matmul())
    assert response.status_code == 202
    body = response.json()
    assert (body["tier"], body["differs"], body["record"]["id"]) == ("suspect", ["driver"], record)
    assert body["job"]["state"] == "queued"


# ---- variables -------------------------------------------------------------------------------------------------------


def test_variables_are_answered_under_the_senders_names(service: Service, queue: JobQueue) -> None:
    first = service.submit(made.dynamic("rows"), variables={"rows": 12}).json()
    assert (first["variables"], first["job"]["variables"]) == ({"rows": 12}, {"v0": 12})
    assert first["shape"] is not None
    assert "rows" in first["shape"]
    second = service.submit(made.dynamic("n"), variables={"n": 12}).json()
    assert (second["key"], second["job"]["id"], second["variables"]) == (first["key"], first["job"]["id"], {"n": 12})
    assert "rows" not in second["shape"]
    third = service.submit(made.dynamic("rows")).json()
    assert third["variables"] == {"rows": 32}
    assert third["job"]["id"] != first["job"]["id"]


@pytest.mark.parametrize("values", [{}, {"j": 1}, {"i": 0}, {"i": 65}, {"i": 1, "j": 1}])
def test_wrong_values_of_variables_are_refused(service: Service, database: Database, values: dict[str, int]) -> None:
    before = row_counts(database)
    response = service.submit(made.dynamic(), variables=values)
    assert (response.status_code, response.json()["error"]["code"]) == (422, "invalid_variables")
    assert row_counts(database) == before


# ---- several services ------------------------------------------------------------------------------------------------


def test_two_services_on_one_file_both_work(service: Service, queue: JobQueue, path: Path) -> None:
    with running_here(open_database(url_of(path))) as other:
        with ThreadPoolExecutor(16) as clients:
            both = [service, other]
            responses = list(clients.map(lambda n: both[n % 2].submit(made.matmul(16 + n // 4)), range(32)))
        assert {response.status_code for response in responses} == {202}
        assert sorted({response.json()["job"]["id"] for response in responses}) == list(range(1, 9))
        assert service.get("/v1/jobs").json() == other.get("/v1/jobs").json()
        record = tuned(queue)
        assert other.get(f"/v1/records/{record}").json() == service.get(f"/v1/records/{record}").json()


def test_every_real_kernel_is_accepted(service: Service) -> None:
    with ThreadPoolExecutor(4) as clients:
        responses = list(clients.map(service.submit, corpus().values()))
    halves = [any(node.get("dtype") == "float16" for node in document["nodes"]) for document in corpus().values()]
    assert any(halves)
    assert [response.status_code for response in responses] == [200 if half else 202 for half in halves]


def test_a_kernel_that_the_device_cannot_compute_has_no_job(service: Service, database: Database) -> None:
    halves = dump_ast(build.elementwise((64,), lambda x: x + 1.0, "float16"))
    before = row_counts(database)
    answer = service.submit(halves)
    assert answer.status_code == 200
    body = answer.json()
    assert (body["tier"], body["opts"], body["source"], body["job"]) == ("none", None, None, None)
    assert "float16" in body["reason"]
    assert row_counts(database) == before


@pytest.mark.parametrize(
    ("device", "field", "words"),
    [
        ({"backend": "opencl", "vendor": "NVIDIA", "name": "H200"}, "device.device.compute_units", "Field required"),
        ({**asdict(DEVICE.identity), "memory": 1}, "device.device.memory", "Extra inputs"),
        ({**asdict(DEVICE.identity), "arch": None}, "device.device.arch", "valid string"),
        ("not a key", "device.device_key", "match pattern"),
        (17, "device.device_key", "valid string"),
    ],
)
def test_what_is_wrong_with_a_device_is_named(service: Service, device: object, field: str, words: str) -> None:
    answer = service.submit(made.matmul(), device=device)
    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == field
    assert words in answer.json()["error"]["message"]
