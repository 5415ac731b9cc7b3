"""A claim kept alive in the background while a search goes on."""

from __future__ import annotations

import threading
import time
from types import TracebackType

import structlog

from service.errors import DatabaseError, LeaseLostError
from service.job_queue import HEARTBEAT_S, ClaimedJob, JobQueue

_log = structlog.get_logger()


class Lease:
    """Beats for a claimed job from another thread, until the `with` block ends or the claim is lost.

    A database that is away for a while is no reason to stop: the claim may well be there when it is back.
    """

    def __init__(self, queue: JobQueue, job: ClaimedJob, every_s: float = HEARTBEAT_S) -> None:
        self._queue = queue
        self._job = job
        self._every_s = every_s
        self._done = threading.Event()
        self._lost: LeaseLostError | None = None
        self._thread = threading.Thread(target=self._beat, name=f"lease-of-job-{job.id}", daemon=True)

    def check(self) -> None:
        """Raises LeaseLostError (JobCancelledError where that is why) once the job is not this worker's any more."""
        if self._lost is not None:
            raise self._lost

    def __enter__(self) -> Lease:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._done.wait(self._every_s):
            try:
                self._queue.heartbeat(self._job.id, self._job.fence, time.time())
            except LeaseLostError as error:
                self._lost = error
                return
            except DatabaseError as error:
                _log.warning("heartbeat_failed", job=self._job.id, code=error.code, error=str(error))
            except Exception:  # noqa: BLE001 - the claim holds for a while without it
                _log.exception("heartbeat_failed", job=self._job.id)
