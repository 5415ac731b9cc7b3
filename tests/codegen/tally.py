"""Counting what became of programs over a whole test run, in whichever worker they ran.

A test says what became of its programs by `record_property("programs", {end: count})`. A program that the device's
compiler cannot build and run in time is not wrong, so no test fails for it; the run does if there are many.
"""

from __future__ import annotations

from collections import Counter

import pytest

TIMED_OUT = "timed out"
#: The largest share of programs that may be timed out, in runs with so many programs that a share means something.
MOST_TIMED_OUT = 0.01
ENOUGH = 300


class ProgramTally:
    """A pytest plugin of the main process."""

    def __init__(self) -> None:
        self.ends: Counter[str] = Counter()
        self.lines: list[str] = []

    @property
    def too_slow(self) -> bool:
        """Whether more programs timed out than may."""
        total = self.ends.total()
        return total >= ENOUGH and self.ends[TIMED_OUT] > MOST_TIMED_OUT * total

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take in what a test recorded."""
        if report.when == "call":
            for key, value in report.user_properties:
                if key == "programs":
                    assert isinstance(value, dict)
                    self.ends.update(value)
                elif key == "timed out":
                    self.lines.append(str(value))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the counts."""
        if self.ends:
            terminalreporter.section("programs on devices")
            terminalreporter.write_line(", ".join(f"{count} {end}" for end, count in sorted(self.ends.items())))
            for line in self.lines:
                terminalreporter.write_line(f"timed out: {line}")
        if self.too_slow:
            terminalreporter.write_line(f"FAILED: more than {MOST_TIMED_OUT:.0%} timed out", red=True)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail the run where too many timed out."""
        if self.too_slow:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
