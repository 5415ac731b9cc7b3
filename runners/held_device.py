"""A device that is held through one child after another: started when needed, given up when it cannot be trusted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from runners.address import DeviceAddress
from runners.api import DeviceInfo, Outcome, OutcomeCode
from runners.environment import fresh_cache, with_cache
from runners.errors import ChildDied, ChildError, ChildKilled, ChildTimeout, NoDeviceError
from runners.messages import OpenDevice, Opened, Request
from runners.process import START_S, Child

#: The driver that trusts whatever lies in its cache's folder, and how programs end where a file there is broken.
_TRUSTING = "PoCL"
_SUSPICIOUS = frozenset({OutcomeCode.BUILD_ERROR, OutcomeCode.RUN_ERROR, OutcomeCode.DEVICE_LOST})
_Result = TypeVar("_Result")


class HeldDevice:
    """Not for several threads at once. `lost` is called whenever what a child held is gone."""

    def __init__(
        self, address: DeviceAddress, info: DeviceInfo, environment: Mapping[str, str], lost: Callable[[], None]
    ) -> None:
        self._address = address
        self._info = info
        self._environment = environment
        self._lost = lost
        self._own_cache: TemporaryDirectory[str] | None = None
        self._child = Child(environment)
        self._killed = False

    @property
    def pid(self) -> int | None:
        """Of the child; None where there is none at the moment."""
        return self._child.pid

    def ask(self, request: Request, deadlines_s: Mapping[str, float]) -> Any:
        """The child's answer. Raises ChildError, with the child given up, and NoDeviceError where none can be had."""
        self._start()
        self._killed = False
        try:
            return self._child.ask(request, deadlines_s)
        except ChildError as error:
            self._killed = isinstance(error, ChildKilled)
            self.give_up()
            raise

    def give_up(self) -> None:
        """End the child. The next request starts another one."""
        self._child.kill()
        self._lost()

    def close(self) -> None:
        """Leave nothing behind."""
        self.give_up()
        if self._own_cache is not None:
            self._own_cache.cleanup()
            self._own_cache = None
            self._child = Child(self._environment)

    def outcome_of_loss(self, error: ChildError) -> Outcome:
        """How the program ended that a child was lost over. Raises where it is no program's doing.

        Whether a device goes on after a crash is looked at in any case: its self-check fails where it does not.
        """
        if error.stage == "start":
            raise error
        building = error.stage == "build"
        if isinstance(error, ChildTimeout):
            return Outcome(OutcomeCode.BUILD_TIMEOUT if building else OutcomeCode.RUN_TIMEOUT, str(error))
        if building:
            return Outcome(OutcomeCode.BUILD_ERROR, f"the compiler failed: {error}")
        self._start()
        return Outcome(OutcomeCode.DEVICE_LOST, f"in stage {error.stage}, {error}")

    def once_more_if_idle_child_died(self, work: Callable[[], _Result]) -> _Result:
        """A child that had ended before it was asked for anything says nothing of what it is asked for."""
        try:
            return work()
        except ChildDied:
            self.give_up()
            return work()

    def doubts_cache(self, outcome: Outcome) -> bool:
        """Whether a program that ended so is to be tried again, as it now is without what the driver kept before."""
        return outcome.code in _SUSPICIOUS and not self._killed and self._leave_cache()

    def _start(self) -> None:
        """See that there is a child with the device in use. Raises NoDeviceError."""
        if self._child.pid is not None:
            return
        opened = self._open()
        if opened.info is None and self._leave_cache():
            opened = self._open()
        if opened.info is None:
            self.give_up()
            raise NoDeviceError(f"the device cannot be used: {opened.reason}")
        if opened.info.device_key != self._info.device_key:
            self.give_up()
            raise NoDeviceError(f"another device is there now: {opened.info.identity}")

    def _open(self) -> Opened:
        self._child.start()
        request = OpenDevice(self._address.platform_index, self._address.device_index)
        try:
            opened: Opened = self._child.ask(request, {"start": START_S})
        except ChildError as error:
            return Opened(None, str(error))
        return opened

    def _leave_cache(self) -> bool:
        """Give up the child for one with a cache of its own; False where it has one, or the driver keeps none."""
        if self._own_cache is not None or _TRUSTING not in self._info.fingerprint.platform:
            return False
        self.give_up()
        self._own_cache = fresh_cache()
        self._child = Child(with_cache(self._environment, self._own_cache.name))
        return True
