"""GET /v1/best, devices, records, health, schema."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import jsonschema
import pytest

from kernels import ast_key, json_schema, parse_ast
from service.database import Database
from service.job_queue import JobQueue
from service.repositories.devices import RUNNER_FRESH_S
from service.use_cases import standing
from tests.service import made
from tests.service.made import DEVICE, PROVENANCE, START, answer
from tests.service.servers import Service, running_here

KEY = ast_key(parse_ast(made.matmul()))


def tuned(service: Service, queue: JobQueue, time_s: float = 1e-3, effort: str = "quick") -> int:
    job_id = service.submit(made.matmul(), effort=effort).json()["job"]["id"]
    job = queue.claim([DEVICE.device_key], "worker-1", START)
    assert job is not None
    assert job.id == job_id
    record = queue.finish(job.id, job.fence, answer(job.ast, time_s), "", PROVENANCE, START)
    assert record is not None
    return record


def test_best_is_none_where_no_device_was_ever_there(database: Database) -> None:
    with running_here(database) as service:
        response = service.get(f"/v1/best/{KEY}")
    assert response.status_code == 200
    assert (response.json()["tier"], response.json()["reason"]) == ("none", "no runner of this kind")


@pytest.mark.parametrize(
    ("key", "device", "reason"),
    [
        ("a" * 64, DEVICE.device_key, "this kernel was never sent"),
        ("a" * 64, made.UNKNOWN_KEY, "this kernel was never sent"),
        (KEY, made.UNKNOWN_KEY, "no runner of this kind"),
        (KEY, DEVICE.device_key, "not tuned yet"),
    ],
)
def test_best_is_none_with_the_reason(service: Service, key: str, device: str, reason: str) -> None:
    service.submit(made.matmul())
    response = service.get(f"/v1/best/{key}", device=device)
    assert response.status_code == 200
    body = response.json()
    assert (body["tier"], body["opts"], body["record"], body["reason"]) == ("none", None, None, reason)


def test_best_is_the_newest_record(service: Service, queue: JobQueue) -> None:
    tuned(service, queue, 1e-3, "quick")
    record = tuned(service, queue, 1.5e-3, "normal")
    body = service.get(f"/v1/best/{KEY}").json()
    assert (body["tier"], body["differs"], body["record"]["id"]) == ("exact", [], record)
    assert (body["record"]["revision"], body["record"]["time_s"]) == (2, 1.5e-3)
    assert body["shape"] == "B64 B16 R64 Y4"


@pytest.mark.parametrize(
    ("name", "expected"), [("driver", "driver"), ("compiler", "compiler"), ("platform", "platform")]
)
def test_best_is_suspect_after_a_new_version(service: Service, queue: JobQueue, name: str, expected: str) -> None:
    tuned(service, queue)
    newer = replace(DEVICE, fingerprint=replace(DEVICE.fingerprint, **{name: "2"}))
    queue.register_runner(newer, "worker-1", "host", 1, START)
    body = service.get(f"/v1/best/{KEY}").json()
    assert (body["tier"], body["differs"]) == ("suspect", [expected])
    assert body["opts"] is not None


def test_best_is_suspect_under_another_code_generator(
    service: Service, queue: JobQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuned(service, queue)
    monkeypatch.setattr(standing, "CODEGEN_VERSION", standing.CODEGEN_VERSION + 1)
    body = service.get(f"/v1/best/{KEY}").json()
    assert (body["tier"], body["differs"]) == ("suspect", ["codegen"])


def test_best_prefers_the_present_method(service: Service, queue: JobQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tuned(service, queue)
    monkeypatch.setattr(standing, "METHODS", {"opencl": ("opencl-events-warm-9",)})
    body = service.get(f"/v1/best/{KEY}").json()
    assert (body["tier"], body["differs"], body["record"]["id"]) == ("suspect", ["method"], old)
    service.submit(made.matmul())
    job = queue.claim([DEVICE.device_key], "worker-1", START)
    assert job is not None
    slower = replace(answer(job.ast, 1.9e-3), method="opencl-events-warm-9")
    present = queue.finish(job.id, job.fence, slower, "", PROVENANCE, START)
    monkeypatch.setattr(standing, "METHODS", {"opencl": ("opencl-events-warm-1",)})
    assert service.get(f"/v1/best/{KEY}").json()["record"]["id"] == old
    monkeypatch.setattr(standing, "METHODS", {"opencl": ("opencl-events-warm-9",)})
    assert service.get(f"/v1/best/{KEY}").json()["record"]["id"] == present


def test_best_is_kept_apart_by_values_of_variables(service: Service, queue: JobQueue) -> None:
    key = service.submit(made.dynamic(), variables={"i": 12}).json()["key"]
    job = queue.claim([DEVICE.device_key], "worker-1", START)
    assert job is not None
    queue.finish(job.id, job.fence, answer(job.ast, heuristic=True), "", PROVENANCE, START)
    assert service.get(f"/v1/best/{key}", variables='{"v0":12}').json()["record"]["variables"] == {"v0": 12}
    assert service.get(f"/v1/best/{key}", variables='{"v0":13}').json()["tier"] == "none"
    assert service.get(f"/v1/best/{key}").json()["tier"] == "none"
    wrong = service.get(f"/v1/best/{key}", variables='{"i":12}')
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (422, "invalid_variables")


def test_a_record_is_shown_whole(service: Service, queue: JobQueue) -> None:
    number = tuned(service, queue)
    body = service.get(f"/v1/records/{number}").json()
    assert body["id"] == number
    assert "__kernel" in body["program"]["source"]
    assert body["program"]["global_size"] == [int(each) for each in body["program"]["global_size"]]
    assert [argument["slot"] for argument in body["program"]["args"]] == [0, 1, 2]
    assert body["samples_s"] == [1e-3] * 5
    assert body["provenance"]["device"]["name"] == "Made CPU 9000"
    assert body["verification"] == {
        "yardstick": "reference",
        "elements": 4096,
        "sampled": 4096,
        "numerics": "reordered",
    }


def test_devices_are_online_while_they_are_heard_of(service: Service, queue: JobQueue) -> None:
    (device,) = service.get("/v1/devices").json()["devices"]
    assert (device["key"], device["state"]) == (DEVICE.device_key, "offline")  # heard of at START alone
    now = time.time()
    queue.runner_heartbeat("worker-1", now)
    (device,) = service.get("/v1/devices").json()["devices"]
    assert (device["state"], device["runners"][0]["state"]) == ("online", "online")
    queue.runner_heartbeat("worker-1", now - RUNNER_FRESH_S - 5)
    assert service.get("/v1/devices").json()["devices"][0]["state"] == "offline"
    queue.runner_heartbeat("worker-1", now)
    queue.runner_stopped("worker-1", now)
    assert service.get("/v1/devices").json()["devices"][0]["state"] == "offline"
    assert device["identity"]["compute_units"] == 8
    assert device["limits"]["local_max"] == [4096, 4096, 4096]


def test_two_devices_of_one_kind_are_one_device_with_two_runners(service: Service, queue: JobQueue) -> None:
    queue.register_runner(replace(DEVICE, unit=1), "worker-1", "host", 1, START)
    (device,) = service.get("/v1/devices").json()["devices"]
    assert sorted(runner["unit"] for runner in device["runners"]) == [0, 1]


def test_the_schema_is_the_published_one_and_fits(service: Service) -> None:
    response = service.get("/v1/kernel-ast-1.schema.json")
    assert response.headers["content-type"] == "application/schema+json"
    assert response.json() == json.loads(json.dumps(json_schema()))
    jsonschema.validate(made.matmul(), response.json())


def test_health_and_description(service: Service) -> None:
    assert service.get("/healthz").json() == {"status": "ok", "version": "0.1.0", "revision": 0}
    description = service.get("/openapi.json").json()
    assert {"/v1/kernels", "/v1/jobs/{job_id}/events", "/v1/best/{ast_key}"} <= set(description["paths"])
    assert set(description["paths"]["/v1/kernels"]["post"]["responses"]) >= {"200", "202", "422"}
