"""The live page: what it shows, and that nothing which was sent is run by it."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from service.job_queue import JobQueue
from service.pages.texts import ago_text, bytes_text, speedup_text, time_text
from tests.service import made
from tests.service.made import DEVICE, PROVENANCE, START, answer, trial
from tests.service.servers import Service

STATIC = Path(__file__).parent.parent.parent / "service" / "pages" / "static"


def rows_of(html: str, heading: str) -> list[str]:
    section = html.partition(f'id="{heading}"')[2].partition("</section>")[0]
    body = section.partition("<tbody>")[2]
    return [re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", row)).strip() for row in body.split("</tr>")[:-1]]


def test_an_empty_page_says_what_to_do(service: Service) -> None:
    page = service.get("/").text
    assert "Nothing is being searched" in page
    assert "No record yet" in page
    assert "Made CPU 9000" in page


def test_a_search_shows_its_progress_and_then_its_record(service: Service, queue: JobQueue) -> None:
    service.submit(made.matmul(), labels={"example": "gemm"}, effort="quick")
    service.submit(made.matmul(128), device=made.UNKNOWN_KEY)
    job = queue.claim([DEVICE.device_key], "worker-1", START)
    assert job is not None
    queue.add_trial(job.id, job.fence, trial(1, 0, 2e-3), START)
    queue.add_trial(job.id, job.fence, trial(2, 1, 5e-4), START)
    running, waiting = rows_of(service.get("/board").text, "jobs")
    assert running == "r_64_64_64 gemm running 20 % 1.0 of 5 s 2 2.00 ms 500.00 µs 4.00× Made CPU 9000".replace(
        "500.00", "500"
    )
    assert "waiting for runner no runner of this kind" in waiting
    queue.finish(job.id, job.fence, answer(job.ast), "", PROVENANCE, time.time())
    board = service.get("/board").text
    (record,) = rows_of(board, "records")
    assert record.startswith("r_64_64_64 gemm 2.00 ms 1.00 ms 2.00× UPCAST(1, 4) Made CPU 9000")
    assert len(rows_of(board, "jobs")) == 1


def test_a_record_of_the_heuristic_says_so(service: Service, queue: JobQueue) -> None:
    service.submit(made.matmul())
    job = queue.claim([DEVICE.device_key], "worker-1", START)
    assert job is not None
    queue.finish(job.id, job.fence, answer(job.ast, 2e-3, heuristic=True), "", PROVENANCE, START)
    (record,) = rows_of(service.get("/board").text, "records")
    assert " kept " in record
    assert "the heuristic&#39;s own; within the noise" in record


def test_a_failed_job_shows_why(service: Service, queue: JobQueue) -> None:
    service.submit(made.matmul())
    job = queue.claim([DEVICE.device_key], "worker-1", START)
    assert job is not None
    queue.finish(job.id, job.fence, None, "every candidate was wrong", PROVENANCE, START)
    (failed,) = rows_of(service.get("/board").text, "ended")
    assert "failed every candidate was wrong" in failed


def test_what_was_sent_is_shown_as_text(service: Service) -> None:
    attack = "</td><script>alert(1)</script><img src=x onerror=alert(1)>"
    service.submit(made.matmul(), labels={"name": attack})
    page = service.get("/").text
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page
    assert "<img src=x" not in page


@pytest.mark.parametrize("address", ["/", "/board"])
def test_the_page_allows_no_script_but_its_own(service: Service, address: str) -> None:
    response = service.get(address)
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"<script(?![^>]*\bsrc=)|\bon\w+=|style=|javascript:|https?://", response.text)


def test_everything_the_page_names_is_there(service: Service) -> None:
    page = service.get("/").text
    named = set(re.findall(r'(?:src|href)="(/static/[^"]+)"', page))
    assert named == {f"/static/{path.name}" for path in STATIC.iterdir()}
    for address in named:
        assert service.get(address).status_code == 200


def test_a_long_board_is_cut(service: Service) -> None:
    for size in range(16, 60):
        service.submit(made.matmul(size))
    board = service.get("/board").text
    assert len(rows_of(board, "jobs")) == 40
    assert "and 4 more" in board


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (1.234e-9, "1.23 ns"),
        (9.996e-7, "1.00 µs"),
        (5e-4, "500 µs"),
        (0.012345, "12.3 ms"),
        (2.0, "2.00 s"),
        (86400.0, "86400 s"),
    ],
)
def test_times_have_three_digits(seconds: float | None, text: str) -> None:
    assert time_text(seconds) == text


def test_other_numbers_are_short() -> None:
    assert [speedup_text(each) for each in (None, 1.0, 9.996, 23.45, 312.0)] == ["–", "1.00×", "10.0×", "23.4×", "312×"]
    assert [bytes_text(each) for each in (0, 1023, 32768, 2**34)] == ["0 B", "1.02e+03 B", "32 KiB", "16 GiB"]
    assert [ago_text(each) for each in (-1, 0.5, 59, 61, 7300, 90000)] == [
        "now",
        "now",
        "59 s ago",
        "1 min ago",
        "2 h ago",
        "1 d ago",
    ]


def test_the_least_budget_does_not_break_the_page(service: Service, queue: JobQueue) -> None:
    assert service.submit(made.matmul(), budget={"device_seconds": 1e-320}).status_code == 422
    service.submit(made.matmul(), budget={"device_seconds": 0.001})
    job = queue.claim([DEVICE.device_key], "worker-1", START)
    assert job is not None
    queue.add_trial(job.id, job.fence, trial(1, 0, 2e-3), START)
    board = service.get("/board")
    assert board.status_code == 200 and "100 %" in board.text
