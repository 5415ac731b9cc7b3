"""A child's life: deadlines by stage, what it starts itself, its parent's death, its last words."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from runners.devices import FoundDevice
from runners.environment import child_environment
from runners.errors import ChildDied, ChildKilled, ChildTimeout
from runners.launch import launch_of
from runners.messages import Build, Built, ListDevices, OpenDevice, Opened
from runners.process import ROOT, Child
from tests.runners.programs import doubled, program_of
from tests.runners.test_local import ended


@pytest.fixture
def child(found: FoundDevice) -> Iterator[Child]:
    started = Child(child_environment(found.address.library))
    started.start()
    yield started
    started.kill()


def opened(child: Child, found: FoundDevice) -> Opened:
    request = OpenDevice(found.address.platform_index, found.address.device_index)
    answer = child.ask(request, {"start": 60.0})
    assert isinstance(answer, Opened)
    return answer


def test_child_answers_one_request_after_another(child: Child, found: FoundDevice) -> None:
    (listed,) = child.ask(ListDevices(), {"start": 60.0})
    assert listed.info.device_key == found.info.device_key
    assert opened(child, found).info is not None
    launch = launch_of(program_of(doubled(), found.info.target), {})
    built = child.ask(Build(launch), {"build": 60.0})
    assert isinstance(built, Built)
    assert built.outcome.ok


def test_child_that_is_silent_for_too_long_is_gone_before_it_is_reported(child: Child) -> None:
    pid = child.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(ChildTimeout, match=r"start took more than 0\.3 s") as late:
        child.ask(ListDevices(), {"start": 0.3})
    assert late.value.stage == "start"
    assert 0.3 <= late.value.elapsed_s < 5.0
    assert not Path(f"/proc/{pid}").exists()
    assert child.pid is None


def with_start_up(tmp_path: Path, found: FoundDevice, code: str) -> Child:
    """A child whose interpreter runs `code` first."""
    (tmp_path / "sitecustomize.py").write_text(code)
    return Child({**child_environment(found.address.library), "PYTHONPATH": str(tmp_path)})


def test_child_takes_what_it_started_with_it(tmp_path: Path, found: FoundDevice) -> None:
    """As a driver's compiler is started."""
    told = tmp_path / "pid"
    code = f"import subprocess\nopen({str(told)!r}, 'w').write(str(subprocess.Popen(['sleep', '600']).pid))\n"
    child = with_start_up(tmp_path, found, code)
    child.start()
    try:
        child.ask(ListDevices(), {"start": 60.0})
        beside = int(told.read_text())
        assert not ended_now(beside)
    finally:
        child.kill()
    assert ended(beside)


def ended_now(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def test_child_that_dies_is_reported_with_the_end_of_what_it_said(tmp_path: Path, found: FoundDevice) -> None:
    """Whoever writes without end to its standard error neither blocks nor fills anything."""
    code = "import os\nfor _ in range(100):\n  os.write(2, b'noise ' * 10000)\nos.write(2, b'at last')\nos._exit(3)\n"
    child = with_start_up(tmp_path, found, code)
    child.start()
    with pytest.raises(ChildDied, match=r"ended with status 3; it said: .*noise at last$") as died:
        child.ask(ListDevices(), {"start": 60.0})
    assert not isinstance(died.value, ChildKilled)
    assert len(str(died.value)) < 3000
    assert child.pid is None


def test_child_that_is_killed_from_outside_is_told_from_one_that_crashes(child: Child) -> None:
    for number, error in ((signal.SIGKILL, ChildKilled), (signal.SIGTERM, ChildDied)):
        if child.pid is None:
            child.start()
        child.ask(ListDevices(), {"start": 60.0})
        os.kill(child.pid or 0, number)
        with pytest.raises(ChildDied) as died:
            child.ask(ListDevices(), {"start": 60.0})
        assert type(died.value) is error


def test_child_outlives_the_thread_that_started_it(found: FoundDevice) -> None:
    """The system's signal for a parent's end comes at the end of a thread."""
    child = Child(child_environment(found.address.library))
    thread = threading.Thread(target=child.start)
    thread.start()
    thread.join()
    try:
        child.ask(ListDevices(), {"start": 60.0})
        time.sleep(0.2)
        child.ask(ListDevices(), {"start": 5.0})
    finally:
        child.kill()


PARENT = """
import sys, time
from runners.api import BuildInput, MeasureInput, Timing, Workload
from runners.devices import FoundDevice
from runners.environment import child_environment
from runners.messages import Build, ListDevices, OpenDevice
from runners.process import Child
from tests.runners.programs import doubled, ending
child = Child(child_environment(sys.argv[1]))
child.start()
child.ask(ListDevices(), {"start": 60.0})
print(child.pid, flush=True)
"""
WAITING = "time.sleep(600)\n"
MEASURING = """
from runners.api import OutcomeCode
from runners.devices import discover
from runners.local import LocalRunner
from tests.runners.programs import to_measure
child.kill()
(found,) = [device for device in discover().devices if device.address.library == sys.argv[1]]
runner = LocalRunner(found.address, found.info)
item = to_measure(runner, doubled(), ending(OutcomeCode.RUN_TIMEOUT, found.info.target))
print(runner.child_pid, flush=True)
runner.measure(MeasureInput(item.workload, item.artifact, launch_deadline_s=600.0))
"""


@pytest.mark.parametrize("doing", ["waiting", "measuring"])
def test_child_goes_when_its_parent_is_killed(doing: str, found: FoundDevice) -> None:
    """Also one that hangs in a kernel and never looks at its pipe."""
    code = PARENT + (WAITING if doing == "waiting" else MEASURING)
    parent = subprocess.Popen(
        [sys.executable, "-c", code, found.address.library], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    try:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        if doing == "measuring":
            pid = int(parent.stdout.readline())
            time.sleep(1.5)
        assert not ended_now(pid)
    finally:
        parent.kill()
        parent.wait()
    assert ended(pid)
