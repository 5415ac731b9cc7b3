"""The worker: claims jobs for the devices of this machine and tunes them, one at a time on each device."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence
from types import FrameType

import structlog

from runners.api import DeviceInfo, Runner
from runners.devices import FoundDevice, discover
from runners.errors import NoDeviceError, RunnerError
from runners.local import LocalRunner
from service.database_version import open_database
from service.errors import DatabaseError, JobCancelledError, LeaseLostError
from service.job_queue import HEARTBEAT_S, ClaimedJob, JobQueue
from service.provenance import Provenance
from service.settings import Settings
from service.tune import StoppedError, settings_of, tune

_log = structlog.get_logger()

#: How long a device without work, or a database that is away, is left alone.
IDLE_S = 0.25
#: A fault of ours outside of a job is looked at again after so long.
_FAULT_S = 5.0
#: A device that was lost is tried again after so long, doubled each time up to the second.
_LOST_S, _LOST_MOST_S = 1.0, 60.0
#: A job during which the device was lost this often is given up: its kernel may be why.
_LOST_PER_JOB = 3
#: How long the measurements under way may take to end when the worker is told to stop.
_STOP_S = 30.0


def run_worker(settings: Settings) -> int:
    """Work until SIGTERM or SIGINT; the exit status. Raises NoDeviceError, and DatabaseError at the start."""
    found = discover()
    for driver in found.broken:
        _log.warning("driver_not_used", library=driver.library, reason=driver.reason)
    if not found.devices:
        raise NoDeviceError("no OpenCL device was found; `python -m service check` says what was looked at")
    database = open_database(settings.database_url)
    worker = Worker(JobQueue(database), [(device.info, _opener(device)) for device in found.devices])
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, worker.stop_on_signal)
    ended = worker.run()
    database.close()
    return 0 if ended else 1


def _opener(device: FoundDevice) -> Callable[[], Runner]:
    return lambda: LocalRunner(device.address, device.info)


class Worker:
    """One process' devices, each with a thread that claims and tunes jobs.

    devices: what each is, and how its runner is made; that is done in the thread that uses it, since a child process
    is bound to the thread that started it.
    """

    def __init__(self, queue: JobQueue, devices: Sequence[tuple[DeviceInfo, Callable[[], Runner]]]) -> None:
        self.name = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
        self._queue = queue
        self._devices = devices
        self._stopping = threading.Event()

    def run(self) -> bool:
        """Work until `stop`. False where a device would not end its measurement in time."""
        for info, _ in self._devices:
            self._queue.register_runner(info, self.name, socket.gethostname(), os.getpid(), time.time())
            _log.info("device_ready", device=info.identity.name, kind=str(info.kind), key=info.device_key)
        threads = [
            threading.Thread(target=self._serve, args=device, name=f"device-{number}", daemon=True)
            for number, device in enumerate(self._devices)
        ]
        for thread in threads:
            thread.start()
        while not self._stopping.wait(HEARTBEAT_S):
            self._beat()
        deadline = time.monotonic() + _STOP_S
        for thread in threads:
            thread.join(max(deadline - time.monotonic(), 0.0))
        self._note_stop()
        return not any(thread.is_alive() for thread in threads)

    def stop(self) -> None:
        """End after the measurements under way. Their jobs go back into the queue with all that was found."""
        self._stopping.set()

    def stop_on_signal(self, _number: int, _frame: FrameType | None) -> None:
        """As `stop`; a second signal ends the process at once."""
        if self._stopping.is_set():
            os._exit(1)
        self.stop()

    def _beat(self) -> None:
        try:
            now = time.time()
            self._queue.runner_heartbeat(self.name, now)
            for job_id in self._queue.expire(now):
                _log.info("job_expired", job=job_id)
        except DatabaseError as error:
            _log.warning("heartbeat_failed", code=error.code, error=str(error))
        except Exception:  # noqa: BLE001 - the devices go on without it
            _log.exception("heartbeat_failed")

    def _note_stop(self) -> None:
        try:
            self._queue.runner_stopped(self.name, time.time())
        except DatabaseError as error:
            _log.warning("stop_not_noted", code=error.code, error=str(error))

    # ---- one device --------------------------------------------------------------------------------------------------

    def _serve(self, info: DeviceInfo, open_runner: Callable[[], Runner]) -> None:
        runner = open_runner()
        losses = _Losses()
        try:
            while not self._stopping.is_set():
                try:
                    job = self._next_job(info)
                    wait_s = IDLE_S if job is None else self._work(job, runner, losses)
                except Exception:  # noqa: BLE001 - whatever it is, the next job may be well
                    _log.exception("device_thread_failed", device=info.identity.name)
                    wait_s = _FAULT_S
                self._stopping.wait(wait_s)
        finally:
            runner.close()

    def _next_job(self, info: DeviceInfo) -> ClaimedJob | None:
        try:
            return self._queue.claim([info.device_key], self.name, time.time())
        except DatabaseError as error:
            _log.warning("claim_failed", code=error.code, error=str(error))
            return None

    def _work(self, job: ClaimedJob, runner: Runner, losses: _Losses) -> float:
        """Tune a job; how many seconds to leave the device alone afterwards."""
        log = _log.bind(job=job.id, kernel=job.kernel_name)
        try:
            tune(job, self._queue, runner, self._stopping.is_set)
        except StoppedError:
            self._give_back(job)
        except JobCancelledError:
            log.info("job_cancelled")
        except LeaseLostError as error:
            log.warning("lease_lost", error=str(error))
        except RunnerError as error:
            log.error("device_lost", code=error.code, error=str(error))
            if losses.of_job(job.id) >= _LOST_PER_JOB:
                self._fail(job, runner, f"the device was lost {_LOST_PER_JOB} times, the last time since {error}")
            else:
                self._give_back(job)
            return losses.wait_s
        except Exception as error:  # a fault of ours ends the job, not the worker
            log.exception("tuning_failed")
            self._fail(job, runner, f"internal error: {type(error).__name__}: {error}")
        losses.none_in_a_row()
        return 0.0

    def _give_back(self, job: ClaimedJob) -> None:
        try:
            self._queue.release(job.id, job.fence)
        except (LeaseLostError, DatabaseError) as error:  # its lease will run out
            _log.warning("job_not_given_back", job=job.id, code=error.code, error=str(error))

    def _fail(self, job: ClaimedJob, runner: Runner, reason: str) -> None:
        provenance = Provenance(runner.device, settings_of(job))
        try:
            self._queue.finish(job.id, job.fence, None, reason, provenance, time.time())
        except (LeaseLostError, DatabaseError) as error:
            _log.warning("failure_not_stored", job=job.id, code=error.code, error=str(error))


class _Losses:
    """How often one device was lost: in a row, and for each job."""

    def __init__(self) -> None:
        self._in_a_row = 0
        self._by_job: dict[int, int] = {}

    def of_job(self, job_id: int) -> int:
        """Count one loss; how many there were during this job."""
        self._in_a_row += 1
        self._by_job[job_id] = self._by_job.get(job_id, 0) + 1
        return self._by_job[job_id]

    def none_in_a_row(self) -> None:
        """A job went through."""
        self._in_a_row = 0
        self._by_job.clear()

    @property
    def wait_s(self) -> float:
        """How long to wait before the device is tried again."""
        return min(_LOST_S * 2.0 ** (self._in_a_row - 1), _LOST_MOST_S)
