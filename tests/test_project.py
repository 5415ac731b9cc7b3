"""The project's own files agree with each other."""

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
NOT_THE_PRODUCT = {"tests", "benchmarks"}


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def requirement_lines(name: str) -> list[str]:
    lines = (ROOT / "requirements" / name).read_text().splitlines()
    return [line for line in lines if line and not line.startswith(("#", "-"))]


def test_import_contracts_cover_every_package() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - NOT_THE_PRODUCT
    assert set(project()["tool"]["importlinter"]["root_packages"]) == packages


def test_import_contracts_keep_the_oracle_out_of_every_package() -> None:
    settings = project()["tool"]["importlinter"]
    product = next(contract for contract in settings["contracts"] if contract["id"] == "product")
    assert product["source_modules"] == settings["root_packages"]


def test_search_is_kept_from_every_runner_module_but_the_joint() -> None:
    contracts = project()["tool"]["importlinter"]["contracts"]
    forbidden = set(next(contract for contract in contracts if contract["id"] == "joint")["forbidden_modules"])
    modules = {f"runners.{path.stem}" for path in (ROOT / "runners").glob("*.py")} | {"runners.backends"}
    assert forbidden == modules - {"runners.__init__", "runners.api", "runners.errors"}


def test_runtime_requirements_are_the_projects_dependencies() -> None:
    assert requirement_lines("runtime.in") == project()["project"]["dependencies"]


def test_locked_requirements_hold_what_is_asked_for() -> None:
    for asked, locked in (("runtime.in", "runtime.txt"), ("runtime.in", "dev.txt"), ("dev.in", "dev.txt")):
        pins = {line.split()[0] for line in requirement_lines(locked) if "==" in line}
        assert {line.split()[0] for line in requirement_lines(asked)} <= pins, f"run make lock: {asked} has changed"


def test_locked_requirements_name_no_address_or_path() -> None:
    for name in ("runtime.txt", "dev.txt"):
        text = (ROOT / "requirements" / name).read_text()
        assert not re.search(r"/|--(extra-)?index-url|--find-links", text)


def test_architecture_stays_short() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_text().splitlines()) < 200


def test_makefile_lists_every_command() -> None:
    makefile = (ROOT / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert phony is not None
    explained = re.findall(r"^([a-z][a-z-]*):.*## .+$", makefile, re.MULTILINE)
    assert explained == phony.group(1).split()
