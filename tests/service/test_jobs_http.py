"""Jobs over HTTP: lists, trials, cancelling, and the stream of events."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import httpx2
import pytest

from kernels import parse_ast
from search.events import GenerationEnded
from service.database_version import open_database
from service.errors import JobCancelledError
from service.job_queue import ClaimedJob, JobQueue
from service.routers import job_events
from tests.service import made
from tests.service.made import DEVICE, PROVENANCE, START, answer, trial
from tests.service.servers import Service, running_here, url_of
from tests.service.sse import Event, events_of

KEYS = [DEVICE.device_key]


@pytest.fixture
def claimed(service: Service, queue: JobQueue) -> ClaimedJob:
    service.submit(made.matmul(), labels={"name": "gemm"})
    job = queue.claim(KEYS, "worker-1", START)
    assert job is not None
    return job


def search_a_bit(queue: JobQueue, job: ClaimedJob, first: int = 1) -> None:
    """Two trials of generation 0, then two generations of three."""
    for generation in range(3):
        for number in range(2 if generation == 0 else 3):
            candidate = first + 10 * generation + number
            queue.add_trial(job.id, job.fence, trial(candidate, generation, 1e-3 / candidate), START)
        queue.add_generation(job.id, job.fence, GenerationEnded(generation, ((made.OPTS, 1e-3),), 9, 3), START)


def finish(queue: JobQueue, job: ClaimedJob) -> None:
    queue.finish(job.id, job.fence, answer(job.ast), "", PROVENANCE, START)


def tags(events: list[Event]) -> list[str]:
    """Trials and generations, as "t1" and "g0"."""
    return [f"{event.name[0]}{event.data['number']}" for event in events if event.name in ("trial", "generation")]


ALL = ["t1", "t2", "g0", "t3", "t4", "t5", "g1", "t6", "t7", "t8", "g2"]

# ---- lists -----------------------------------------------------------------------------------------------------------


def test_jobs_are_listed_newest_first_in_pages(service: Service, queue: JobQueue) -> None:
    for size in range(16, 23):
        service.submit(made.matmul(size))
    first = service.get("/v1/jobs", limit=3).json()
    assert [job["id"] for job in first["jobs"]] == [7, 6, 5]
    second = service.get("/v1/jobs", limit=3, before=first["next_before"]).json()
    assert [job["id"] for job in second["jobs"]] == [4, 3, 2]
    third = service.get("/v1/jobs", limit=3, before=second["next_before"]).json()
    assert ([job["id"] for job in third["jobs"]], third["next_before"]) == ([1], None)
    queue.claim(KEYS, "worker-1", START)
    service.cancel(2)
    assert [job["id"] for job in service.get("/v1/jobs", state="running").json()["jobs"]] == [1]
    both = service.get("/v1/jobs?state=running&state=cancelled").json()
    assert [job["id"] for job in both["jobs"]] == [2, 1]


def test_trials_are_listed_in_order_in_pages(service: Service, queue: JobQueue, claimed: ClaimedJob) -> None:
    search_a_bit(queue, claimed)
    queue.add_trial(claimed.id, claimed.fence, trial(99, 2, None, made.FAILED), START)
    first = service.get("/v1/jobs/1/trials", limit=5).json()
    rest = service.get("/v1/jobs/1/trials", limit=5, after=first["next_after"]).json()
    numbers = [each["number"] for each in first["trials"] + rest["trials"]]
    assert (numbers, rest["next_after"]) == (list(range(1, 10)), None)
    last = rest["trials"][-1]
    assert (last["outcome"], last["reason"], last["time_s"]) == ("build_error", "the compiler says no", None)
    assert last["opts"] == [{"op": "UPCAST", "axis": 1, "arg": 4}]


def test_a_running_job_shows_its_progress(service: Service, queue: JobQueue, claimed: ClaimedJob) -> None:
    search_a_bit(queue, claimed)
    job = service.get("/v1/jobs/1").json()
    assert (job["state"], job["trials"], job["generations"], job["spent_s"]) == ("running", 8, 2, 4.0)
    assert (job["baseline_s"], job["best_s"]) == (1e-3, 1e-3 / 23)


def test_cancel_ends_a_job_once_and_for_all(service: Service, queue: JobQueue, claimed: ClaimedJob) -> None:
    assert service.cancel(1).json()["state"] == "cancelled"
    assert service.cancel(1).status_code == 200
    with pytest.raises(JobCancelledError):
        queue.heartbeat(claimed.id, claimed.fence, START)
    assert service.cancel(999).status_code == 404


def test_cancel_leaves_a_job_that_is_done(service: Service, queue: JobQueue, claimed: ClaimedJob) -> None:
    finish(queue, claimed)
    response = service.cancel(1)
    assert (response.status_code, response.json()["error"]["code"]) == (409, "wrong_state")
    assert service.get("/v1/jobs/1").json()["state"] == "done"


# ---- events ----------------------------------------------------------------------------------------------------------


def test_events_tell_all_of_a_job_that_has_ended(service: Service, queue: JobQueue, claimed: ClaimedJob) -> None:
    search_a_bit(queue, claimed)
    finish(queue, claimed)
    events = list(events_of(f"{service.url}/v1/jobs/1/events"))
    assert tags(events) == ALL
    assert (events[0].name, events[-1].name) == ("job", "end")
    assert events[-1].data == service.get("/v1/jobs/1").json()
    assert events[-1].id == "8.3"


def test_events_come_while_a_search_goes_on(service: Service, queue: JobQueue, claimed: ClaimedJob) -> None:
    seen: list[Event] = []

    def follow() -> None:
        seen.extend(events_of(f"{service.url}/v1/jobs/1/events"))

    follower = threading.Thread(target=follow)
    follower.start()
    for _ in range(3):
        time.sleep(0.1)
        search_a_bit(queue, claimed, first=1 + 100 * _)
    finish(queue, claimed)
    follower.join(30)
    assert not follower.is_alive()
    numbers = [event.data["number"] for event in seen if event.name == "trial"]
    assert numbers == list(range(1, 25))
    states = [event.data["state"] for event in seen if event.name in ("job", "end")]
    assert states[0] == "running"
    assert states[-1] == "done"


@pytest.mark.parametrize("after", range(len(ALL)))
def test_events_go_on_where_a_client_left_off(
    service: Service, queue: JobQueue, claimed: ClaimedJob, after: int
) -> None:
    search_a_bit(queue, claimed)
    finish(queue, claimed)
    url = f"{service.url}/v1/jobs/1/events"
    told = [event for event in events_of(url) if event.name in ("trial", "generation")]
    assert tags(list(events_of(url, told[after].id))) == ALL[after + 1 :]


def test_events_go_on_at_another_service(service: Service, queue: JobQueue, claimed: ClaimedJob, path: Path) -> None:
    search_a_bit(queue, claimed)
    stream = events_of(f"{service.url}/v1/jobs/1/events")
    seen = [next(stream) for _ in range(5)]
    stream.close()
    finish(queue, claimed)
    with running_here(open_database(url_of(path))) as other:
        rest = list(events_of(f"{other.url}/v1/jobs/1/events", seen[-1].id))
    assert tags(seen + rest) == ALL


@pytest.mark.parametrize("last_id", ["", "x", "-1.-1", "1", "9999999999.0", "1.1.1"])
def test_events_begin_anew_after_an_id_that_is_none(
    service: Service, queue: JobQueue, claimed: ClaimedJob, last_id: str
) -> None:
    search_a_bit(queue, claimed)
    finish(queue, claimed)
    assert tags(list(events_of(f"{service.url}/v1/jobs/1/events", last_id))) == ALL


def test_events_are_given_in_pages_and_stay_in_order(
    service: Service, queue: JobQueue, claimed: ClaimedJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_events, "_PAGE", 2)
    monkeypatch.setattr(job_events, "POLL_S", 0.01)
    search_a_bit(queue, claimed)
    finish(queue, claimed)
    assert tags(list(events_of(f"{service.url}/v1/jobs/1/events"))) == ALL


def test_many_followers_do_not_keep_the_service_from_answering(
    service: Service, queue: JobQueue, claimed: ClaimedJob
) -> None:
    async def follow(client: httpx2.AsyncClient) -> None:
        async with client.stream("GET", f"{service.url}/v1/jobs/1/events") as response:
            async for _ in response.aiter_lines():
                pass

    async def look() -> float:
        limits = httpx2.Limits(max_connections=200)
        async with httpx2.AsyncClient(timeout=30.0, limits=limits) as client:
            followers = [asyncio.create_task(follow(client)) for _ in range(60)]
            await asyncio.sleep(1.0)
            began = time.monotonic()
            response = await client.get(f"{service.url}/healthz")
            took = time.monotonic() - began
            assert response.status_code == 200
            for follower in followers[:30]:
                follower.cancel()  # half of them go away
            await asyncio.to_thread(finish, queue, claimed)
            await asyncio.wait_for(asyncio.gather(*followers, return_exceptions=True), 20)
        return took

    assert asyncio.run(look()) < 5.0


def test_a_follower_that_goes_away_is_forgotten(
    service: Service, claimed: ClaimedJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[float] = []
    look = job_events._look

    def counted(*arguments: object) -> object:
        looks.append(time.monotonic())
        return look(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(job_events, "_look", counted)
    stream = events_of(f"{service.url}/v1/jobs/1/events")
    assert next(stream).name == "job"
    time.sleep(0.7)
    stream.close()
    time.sleep(0.7)
    count = len(looks)
    assert count >= 2
    time.sleep(1.0)
    assert len(looks) == count
    assert parse_ast(made.matmul()) == claimed.ast
