"""What is refused, how, and that nothing is written for it."""

from __future__ import annotations

import copy
import json
import pickle
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from service.database import Database
from service.database_version import open_database
from service.job_queue import JobQueue
from service.routers import kernels as kernels_router
from tests.service import made
from tests.service.conftest import row_counts
from tests.service.made import DEVICE, START
from tests.service.servers import Service, running_here, url_of

Document = dict[str, Any]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """One for all tests here: nothing is to be written to it."""
    opened = open_database(url_of(tmp_path_factory.mktemp("refusals") / "beamtune.db"))
    JobQueue(opened).register_runner(DEVICE, "worker-1", "host", 1, START)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def service(database: Database) -> Iterator[Service]:
    with running_here(database) as service:
        yield service


@pytest.fixture
def queue(path: Path) -> Iterator[JobQueue]:
    """On a database of the test's own."""
    opened = open_database(url_of(path))
    queue = JobQueue(opened)
    queue.register_runner(DEVICE, "worker-1", "host", 1, START)
    yield queue
    opened.close()


def changed(change: Callable[[Document], object]) -> Document:
    document = copy.deepcopy(made.matmul())
    change(document)
    return document


# ---- ASTs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "rule", "node"),
    [
        (changed(lambda d: d.pop("format")), "field", None),
        (changed(lambda d: d.update(format="kernel-ast/9")), "format", None),
        (changed(lambda d: d.update(extra=1)), "field", None),
        (changed(lambda d: d["nodes"][3].update(op="EXEC")), "unknown-op", 3),
        (changed(lambda d: d["nodes"][0].update(dtype="float33")), "unknown-dtype", 0),
        (changed(lambda d: d["nodes"][4].update(src=[9, 3])), "source-order", 4),
        (changed(lambda d: d["nodes"].pop()), "sink", None),
        (changed(lambda d: d.update(nodes=[])), "sink", None),
        (changed(lambda d: d["nodes"][0]["arg"].update(size=7)), "reach", 10),
        ({"__reduce__": ["os.system", ["true"]]}, "field", None),
        ("__import__('os').system('true')", "field", None),
        (None, "field", None),
        ([], "field", None),
    ],
)
def test_a_wrong_ast_is_refused_with_rule_and_node(
    service: Service, database: Database, document: object, rule: str, node: int | None
) -> None:
    before = row_counts(database)
    response = service.submit(document)
    assert response.status_code == 422
    error = response.json()["error"]
    assert (error["code"], error["rule"]) == ("invalid_ast", rule)
    if node is not None:
        assert error["node"] == node
    assert error["message"]
    assert row_counts(database) == before


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ('{"format":"kernel-ast/1","format":"kernel-ast/1","nodes":[]}', "json"),
        ('{"format":"kernel-ast/1","nodes":[NaN]}', "number"),
        ('{"format":"kernel-ast/1","nodes":[-Infinity]}', "number"),
    ],
)
def test_an_ast_is_read_as_strict_json(service: Service, database: Database, text: str, rule: str) -> None:
    before = row_counts(database)
    response = service.post_raw(f'{{"ast":{text}}}'.encode())
    assert (response.status_code, response.json()["error"]["rule"]) == (422, rule)
    assert row_counts(database) == before


def stacked_views(axes: int = 16, views: int = 8) -> Document:
    """A valid AST of 2 kB that would keep Kernel busy for a minute."""
    base = [2, 3] * (axes // 2)
    size = 6 ** (axes // 2)

    def view(shape: list[int], turned: bool) -> Document:
        strides, step = [0] * len(shape), 1
        order = range(len(shape)) if turned else reversed(range(len(shape)))
        for axis in order:
            strides[axis], step = step, step * shape[axis]
        mask = [[0, each - 1] if each > 2 else [0, each] for each in shape]
        return {"shape": shape, "strides": strides, "offset": 0, "mask": mask}

    stack = [view(base[::-1] if depth % 2 else base, depth % 3 > 0) for depth in range(views - 1)]
    plain = view(base, False) | {"mask": None}
    nodes = [
        {"op": "DEFINE_GLOBAL", "src": [], "dtype": "float32", "arg": {"slot": 0, "size": size}},
        {"op": "VIEW", "src": [], "arg": {"views": [plain]}},
        {"op": "DEFINE_GLOBAL", "src": [], "dtype": "float32", "arg": {"slot": 1, "size": size}},
        {"op": "VIEW", "src": [], "arg": {"views": [*stack, view(base, True)]}},
        {"op": "LOAD", "src": [2, 3], "dtype": "float32"},
        {"op": "STORE", "src": [0, 1, 4]},
        {"op": "SINK", "src": [5]},
    ]
    return {"format": "kernel-ast/1", "nodes": nodes}


def test_an_ast_that_would_take_minutes_is_refused_at_once(service: Service, database: Database) -> None:
    before = row_counts(database)
    response = service.submit(stacked_views())
    assert (response.status_code, response.json()["error"]["code"]) == (422, "too_complex")
    assert response.elapsed.total_seconds() < 2
    assert row_counts(database) == before
    assert service.submit(stacked_views(4, 2)).status_code == 202


# ---- bodies ----------------------------------------------------------------------------------------------------------

AST = json.dumps(made.matmul())


class Touches:
    """Unpickling this makes the file."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (self.path, "w")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, "invalid_json"),
        (b"{", 400, "invalid_json"),
        (b"[]", 400, "invalid_json"),
        (b"null", 400, "invalid_json"),
        (b'"ast"', 400, "invalid_json"),
        (b"\xff\xfe{}", 400, "invalid_json"),
        (b"{} {}", 400, "invalid_json"),
        (b"{1: 2}", 400, "invalid_json"),
        (b"__import__('os').system('true')", 400, "invalid_json"),
        (b"[" * 100_000, 400, "invalid_json"),
        (b'{"ast":' + b"[" * 100_000 + b"]" * 100_000 + b"}", 400, "invalid_json"),
        (b'{"priority":' + b"1" * 5000 + b"}", 400, "invalid_json"),
        (f'{{"ast":{AST},"ast":{AST}}}'.encode(), 400, "invalid_json"),
        (f'{{"ast":{AST},"labels":{{"a":"1","a":"2"}}}}'.encode(), 400, "invalid_json"),
        (f'{{"ast":{AST},"budget":{{"device_seconds":NaN}}}}'.encode(), 400, "invalid_json"),
        (b"{}", 422, "invalid_request"),
        (f'{{"ast":{AST},"source":"__kernel void k() {{}}"}}'.encode(), 422, "invalid_request"),
        (f'{{"ast":{AST},"effort":"boundless"}}'.encode(), 422, "invalid_request"),
        (f'{{"ast":{AST},"effort":"quick","budget":{{"trials":1}}}}'.encode(), 422, "invalid_request"),
        (f'{{"ast":{AST},"budget":{{}}}}'.encode(), 422, "invalid_request"),
        (f'{{"ast":{AST},"budget":{{"trials":true}}}}'.encode(), 422, "invalid_request"),
        (f'{{"ast":{AST},"budget":{{"device_seconds":"5"}}}}'.encode(), 422, "invalid_request"),
        (f'{{"ast":{AST},"budget":{{"device_seconds":1e400}}}}'.encode(), 422, "invalid_request"),
        (f'{{"ast":{AST},"budget":{{"device_seconds":0}}}}'.encode(), 422, "invalid_request"),
        (f'{{"ast":{AST},"priority":1e3}}'.encode(), 422, "invalid_request"),
        (f'{{"ast":{AST},"labels":{{"a":1}}}}'.encode(), 422, "invalid_request"),
        (f'{{"ast":{AST},"labels":{{"a":"\\ud800"}}}}'.encode(), 422, "invalid_request"),
        (f'{{"ast":{AST},"labels":{{"\\ud800":"a"}}}}'.encode(), 422, "invalid_request"),
        (f'{{"ast":{AST},"\\ud800":"a"}}'.encode(), 422, "invalid_request"),
        (f'{{"ast":{AST},"device":"GPU"}}'.encode(), 422, "invalid_request"),
        (f'{{"ast":{AST},"device":{{"backend":"opencl"}}}}'.encode(), 422, "invalid_request"),
        (f'{{"ast":{AST},"variables":{{"i":1.5}}}}'.encode(), 422, "invalid_request"),
        (f'{{"ast":{AST},"variables":{{"i":{2**70}}}}}'.encode(), 422, "invalid_variables"),
    ],
)
def test_a_wrong_body_is_refused_and_nothing_is_written(
    service: Service, database: Database, body: bytes, status: int, code: str
) -> None:
    before = row_counts(database)
    response = service.post_raw(body)
    assert (response.status_code, response.json()["error"]["code"]) == (status, code)
    assert row_counts(database) == before


def test_a_pickle_is_refused_and_not_run(service: Service, database: Database, tmp_path: Path) -> None:
    before = row_counts(database)
    mark = tmp_path / "it ran"
    body = pickle.dumps(Touches(str(mark)))
    assert service.post_raw(body).status_code == 400
    assert service.post_raw(body, "application/octet-stream").status_code == 415
    assert service.post_raw(json.dumps({"ast": body.hex()}).encode()).status_code == 422
    assert not mark.exists()
    assert row_counts(database) == before


def test_a_body_that_is_too_long_is_refused(service: Service, database: Database) -> None:
    before = row_counts(database)
    too_long = b'{"ast": "' + b" " * (2 * 2**20) + b'"}'
    assert service.post_raw(too_long).status_code == 413
    within = b'{"ast": "' + b" " * (2**20 + 1) + b'"}'
    response = service.post_raw(within)
    assert (response.status_code, response.json()["error"]["rule"]) == (422, "limit")
    assert row_counts(database) == before


def test_a_form_of_another_site_is_refused(service: Service) -> None:
    for media_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        response = service.post_raw(f'{{"ast":{AST}}}'.encode(), media_type)
        assert (response.status_code, response.json()["error"]["code"]) == (415, "unsupported_media_type")
    assert service.post_raw(f'{{"ast":{AST}}}'.encode(), "Application/JSON; charset=utf-8").status_code == 202


@pytest.mark.parametrize(
    ("address", "status", "code"),
    [
        ("/v1/nothing", 404, "not_found"),
        ("/v1/jobs/999", 404, "not_found"),
        ("/v1/jobs/999/trials", 404, "not_found"),
        ("/v1/jobs/999/events", 404, "not_found"),
        ("/v1/records/1", 404, "not_found"),
        ("/v1/jobs/0", 422, "invalid_request"),
        ("/v1/jobs/x", 422, "invalid_request"),
        (f"/v1/jobs/{2**64}", 422, "invalid_request"),
        ("/v1/jobs?state=lost", 422, "invalid_request"),
        ("/v1/jobs?limit=0", 422, "invalid_request"),
        ("/v1/jobs?colour=red", 422, "invalid_request"),
        ("/v1/best/xyz", 422, "invalid_request"),
        (f"/v1/best/{'A' * 64}", 422, "invalid_request"),
        (f"/v1/best/{'a' * 64}?device=cpu", 422, "invalid_request"),
        (f"/v1/best/{'a' * 64}?variables=[]", 422, "invalid_variables"),
        (f"/v1/best/{'a' * 64}?variables={{", 400, "invalid_json"),
        ("/v1/kernels", 405, "method_not_allowed"),
        ("/static/../app.py", 404, "not_found"),
    ],
)
def test_every_error_has_the_same_form(service: Service, address: str, status: int, code: str) -> None:
    response = service.get(address)
    assert (response.status_code, response.json()["error"]["code"]) == (status, code)
    assert response.json()["error"]["message"]


# ---- the database ----------------------------------------------------------------------------------------------------


def test_a_locked_database_is_503_and_work_goes_on_afterwards(path: Path, queue: JobQueue) -> None:
    with running_here(open_database(url_of(path), busy_timeout_s=0.3)) as service:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        response = service.submit(made.matmul())
        assert (response.status_code, response.json()["error"]["code"]) == (503, "database_busy")
        assert response.headers["retry-after"] == "1"
        assert service.get("/v1/jobs").status_code == 200  # readers do not wait
        other.execute("ROLLBACK")
        other.close()
        assert service.submit(made.matmul()).status_code == 202


def test_a_full_database_is_503_and_nothing_is_half_written(path: Path, queue: JobQueue) -> None:
    database = open_database(url_of(path))
    pages: list[int] = []

    @event.listens_for(database.engine, "connect")
    def limit(connection: sqlite3.Connection, _: object) -> None:
        (used,) = connection.execute("PRAGMA page_count").fetchone()
        pages.append(used)
        connection.execute(f"PRAGMA max_page_count = {used}")

    with running_here(database) as service:
        before = row_counts(database)
        statuses, sizes = [], iter(range(16, 500))
        while 503 not in statuses:
            response = service.submit(made.matmul(next(sizes)))
            statuses.append(response.status_code)
        assert response.json()["error"]["code"] == "database_full"
        assert response.headers["retry-after"] == "1"
        after = row_counts(database)
        written = statuses.count(202)
        assert after["jobs"] - before["jobs"] == after["kernels"] - before["kernels"] == written
        assert service.get("/healthz").status_code == 200


def test_a_damaged_database_is_503(path: Path, queue: JobQueue) -> None:
    queue.database.close()
    with running_here(open_database(url_of(path))) as service:
        service.submit(made.matmul())
        queue.register_runner(DEVICE, "worker-1", "host", 1, START)
    path.with_name("beamtune.db-wal").unlink(missing_ok=True)
    damaged = Database(url_of(path))
    with running_here(damaged) as service:
        damaged.close()
        path.write_bytes(path.read_bytes()[:100] + b"\x07" * 40_000)
        response = service.get("/v1/jobs")
        assert (response.status_code, response.json()["error"]["code"]) == (503, "database_unavailable")


# ---- faults of our own -----------------------------------------------------------------------------------------------


def test_an_unexpected_error_is_500_without_its_inside(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("the inside")

    monkeypatch.setattr(kernels_router, "best", broken)
    response = service.get(f"/v1/best/{'a' * 64}")
    assert (response.status_code, response.json()["error"]["code"]) == (500, "internal")
    assert "inside" not in response.text
    assert service.get("/healthz").status_code == 200
