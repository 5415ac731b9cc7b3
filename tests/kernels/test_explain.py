"""`python -m kernels explain`, run as users run it, against golden outputs.

`python -m tests.kernels.test_explain` writes the golden files anew; look at what changes before keeping it.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from kernels import OptOps, build, dump_ast
from kernels.__main__ import main
from kernels.explain_request import RequestError, read_opts
from kernels.opt import Opt
from tests.kernels.documents import corpus

ROOT = Path(__file__).parent.parent.parent
CORPUS = "tests/data/corpus/tinygrad-0.10.2.jsonl"
GOLDEN = ROOT / "tests" / "data" / "explain"

# name of the golden file: arguments after the file, exit code
EXPLAINED: dict[str, tuple[list[str], int]] = {
    "matmul": (["--name", "gemm/01", "--opts", "UPCAST(0, 4) LOCAL(1, 8) UNROLL(0, 4) SWAP(0, 1)"], 0),
    "matmul_colours": (["--name", "gemm/01", "--opts", "UPCAST(0,4) GROUP(0,8) LOCAL(0,2)", "--color", "always"], 0),
    "tensor_core": (["--name", "gemm/06", "--opts", "TC(0, (-1, 0)) UPCAST(0, 4)", "--target", "sm_80"], 0),
    "heuristic": (["--name", "reduce/04", "--opts", "heuristic"], 0),
    "convolution": (["--name", "conv/01"], 0),
    "dynamic": (["--name", "symbolic/04", "--opts", '[{"op": "UPCAST", "axis": 0, "arg": 4}, {"op": "NOLOCALS"}]'], 0),
    "training_step": (["--name", "resnet_train/42", "--opts", "heuristic"], 0),
    "update_in_place": (["--name", "gpt_train/49"], 0),
    "one_element": (["--name", "gpt_train/04"], 0),
    "refused": (["--name", "gemm/01", "--opts", "LOCAL(0,16),LOCAL(0,7) UPCAST(0,4)"], 1),
    "refused_shared_memory": (
        ["--name", "reduce/01", "--opts", "GROUP(0,256) UPCAST(0,16)", "--shared-max", "8192"],
        1,
    ),
}


def explain(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command run as users run it; what it prints must be ASCII."""
    command = [sys.executable, "-m", "kernels", "explain", *arguments]
    return subprocess.run(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, encoding="ascii", timeout=60, check=False
    )


class Explain:
    """The same within this process, where a new one for each of many wrong requests would take long."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch = monkeypatch
        self.capsys = capsys

    def __call__(self, *arguments: str, stdin: str | bytes = "") -> tuple[int, str, str]:
        """(exit code, stdout, stderr)"""
        given = stdin if isinstance(stdin, bytes) else stdin.encode()
        self.monkeypatch.chdir(ROOT)
        self.monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        code = main(["explain", *arguments])
        return code, *self.capsys.readouterr()


@pytest.fixture
def explained(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Explain:
    return Explain(monkeypatch, capsys)


@pytest.mark.parametrize("name", EXPLAINED)
def test_explain_prints_what_it_did_before(name: str) -> None:
    arguments, code = EXPLAINED[name]
    done = explain(CORPUS, *arguments)
    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout == (GOLDEN / f"{name}.txt").read_text()


def test_golden_files_are_those_that_tests_compare_with() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(EXPLAINED)


# ---- where the kernel comes from -------------------------------------------------------------------------------------


def test_explain_reads_a_document_a_named_one_and_lines_of_those(tmp_path: Path, explained: Explain) -> None:
    document = corpus()["reduce/04"]
    alone, named, lines = (tmp_path / name for name in ("alone.json", "named.json", "lines.jsonl"))
    alone.write_text(json.dumps(document, indent=2))
    named.write_text(json.dumps({"name": "reduce/04", "ast": document}, indent=2))
    lines.write_text("".join(json.dumps({"name": name, "ast": document}) + "\n" for name in ("x", "reduce/04")))
    _, expected, _ = explained(CORPUS, "--name", "reduce/04")
    assert explained(str(named)) == (0, expected, "")
    assert explained(str(lines), "--name", "reduce/04") == (0, expected, "")
    assert explained("-", stdin=json.dumps({"name": "reduce/04", "ast": document})) == (0, expected, "")
    assert explained(str(alone)) == (0, expected.removeprefix("kernel  reduce/04\n"), "")


def test_explain_shows_a_strange_name_in_printable_ascii(explained: Explain) -> None:
    document = dump_ast(build.matmul(2, 2, 2))
    _, output, _ = explained("-", stdin=json.dumps({"name": "a\x1b[31mb\n\u00e9", "ast": document}))
    assert output.splitlines()[0] == r"kernel  'a\x1b[31mb\n\xe9'"


# ---- colours ---------------------------------------------------------------------------------------------------------


def on_a_terminal(*arguments: str) -> str:
    """The command's output where it is a terminal."""
    outer, inner = pty.openpty()
    command = [sys.executable, "-m", "kernels", "explain", *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdout=inner, stdin=subprocess.DEVNULL) as process:
        os.close(inner)
        parts = []
        try:
            while part := os.read(outer, 65536):
                parts.append(part)
        except OSError:  # Linux says so where the other end is closed
            pass
        assert process.wait(60) == 0
    os.close(outer)
    return b"".join(parts).decode().replace("\r\n", "\n")


def test_explain_colours_a_terminal_and_nothing_else() -> None:
    arguments = [CORPUS, *EXPLAINED["matmul_colours"][0][:-2]]
    coloured = (GOLDEN / "matmul_colours.txt").read_text()
    assert on_a_terminal(*arguments) == coloured
    plain = explain(*arguments).stdout
    assert "\x1b" in coloured and "\x1b" not in plain
    assert on_a_terminal(*arguments, "--color", "never") == plain


# ---- what is wrong ---------------------------------------------------------------------------------------------------

SMALL = dump_ast(build.reduce_rows("sum", 2, 3))


def broken(**changes: object) -> str:
    return json.dumps({**SMALL, **changes})


def with_node(number: int, **changes: object) -> str:
    nodes: list[object] = [dict(node) for node in SMALL["nodes"]]  # type: ignore[attr-defined]
    nodes[number] = {**nodes[number], **changes}  # type: ignore[dict-item]
    return broken(nodes=nodes)


@pytest.mark.parametrize(
    ("stdin", "message"),
    [
        ("", "error: stdin: no JSON: Expecting value at line 1, column 1"),
        (broken()[:-1], "error: stdin: no JSON: Expecting ',' delimiter at line 1, column "),
        ("[" * 100_000, "error: stdin: the JSON nests too deep"),
        ("1" * 5000, "error: stdin: a number has too many digits"),
        ("[1]", "error: stdin: document: the document must be an object, not a list of 1 [field]"),
        (
            broken(format="kernel-ast/9"),
            "error: stdin: document: the format is 'kernel-ast/9', not kernel-ast/1 [format]",
        ),
        (with_node(4, op="LOUD"), "error: stdin: node 4: 'LOUD' is no op [unknown-op]"),
        (
            with_node(5, arg={"op": "ADD", "axes": [7]}),
            "error: stdin: node 5: axis 7 is reduced, and the source has 2 axes",
        ),
        ('{"format": 1, "format": 2}', "error: stdin: an object has the same field twice"),
        ('{"format": NaN}', "error: stdin: NaN is no JSON number"),
        ('{"ast": {}}\n{"ast": 3', "error: stdin: line 2: no JSON: Expecting ',' delimiter at line 1, column 10"),
        ('{"ast": 1}\n{"ast": 2}', "error: stdin: the file holds 2 kernels: choose one with --name (null, null, ...)"),
        (b"\xff\xfe", "error: stdin: no UTF-8 text"),
    ],
)
def test_explain_says_in_one_line_what_is_wrong_with_a_file(
    explained: Explain, stdin: str | bytes, message: str
) -> None:
    code, output, error = explained("-", stdin=stdin)
    assert (code, output) == (2, "")
    assert error.startswith(message) and error.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.json"], "error: nowhere.json: No such file or directory"),
        (["tests"], "error: tests: Is a directory"),
        ([CORPUS], f"error: {CORPUS}: the file holds 184 kernels: choose one with --name ('gemm/01', 'gemm/02', "),
        ([CORPUS, "--name", "gemm"], f"error: {CORPUS}: the file holds no kernel called 'gemm'"),
        ([CORPUS, "--target", "sm80"], "error: a CUDA architecture is written sm_80, not 'sm80'"),
        ([CORPUS, "--shared-max", "-1"], "error: shared_max is an integer of at least 0, not -1"),
        ([CORPUS, "--opts", "UPCAST"], "error: opts: UPCAST has 2 numbers, not 0"),
    ],
)
def test_explain_says_in_one_line_what_is_wrong_with_a_request(
    explained: Explain, arguments: list[str], message: str
) -> None:
    code, output, error = explained(*arguments)
    assert (code, output) == (2, "")
    assert error.startswith(message) and error.count("\n") == 1


def test_explain_gives_exit_code_2_and_one_line_as_a_command() -> None:
    done = explain("nowhere.json")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "error: nowhere.json: No such file or directory\n")


def test_explain_ends_quietly_when_its_reader_has_gone() -> None:
    """It goes in the middle of an output that is longer than the pipe."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    command = [sys.executable, "-m", "kernels", "explain", str(CORPUS), "--name", "resnet_train/01", "--source"]
    command += ["--opts", "UPCAST(0, 8) UPCAST(1, 8)"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert os.read(reader, 1) == b"k"
    os.close(reader)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (2, b"")


# ---- Opts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "opts"),
    [
        ("", ()),
        ("UPCAST(0,4)", (Opt(OptOps.UPCAST, 0, 4),)),
        (" upcast( 0 , 4 ),LOCAL(1 8)", (Opt(OptOps.UPCAST, 0, 4), Opt(OptOps.LOCAL, 1, 8))),
        ("TC(0, (-1, 2)) NOLOCALS", (Opt(OptOps.TC, 0, (-1, 2)), Opt(OptOps.NOLOCALS))),
        ("NOLOCALS()PADTO(1,32)", (Opt(OptOps.NOLOCALS), Opt(OptOps.PADTO, 1, 32))),
        ("UNROLL(-1,0)", (Opt(OptOps.UNROLL, -1, 0),)),
        ('[{"op": "TC", "axis": 0, "arg": [-1, 2]}]', (Opt(OptOps.TC, 0, (-1, 2)),)),
        ("[]", ()),
        (" heuristic ", None),
    ],
)
def test_read_opts_takes_the_short_form_and_json(text: str, opts: tuple[Opt, ...] | None) -> None:
    assert read_opts(text) == opts


def test_read_opts_takes_what_str_of_opts_gives() -> None:
    opts = (Opt(OptOps.TC, 1, (0, 2)), Opt(OptOps.SWAP, 0, 1), Opt(OptOps.GROUPTOP, 0, 16), Opt(OptOps.NOLOCALS))
    assert read_opts(" ".join(map(str, opts))) == opts


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("UPCAST(0)", "opts: UPCAST has 2 numbers, not 1"),
        ("TC(0, 1)", "opts: TC has 3 numbers, not 2"),
        ("NOLOCALS(1)", "opts: NOLOCALS has 0 numbers, not 1"),
        ("UPCAST(a, b)", "opts: expected NAME(axis, arg), not 'UPCAST(a, b)'"),
        ("LOCAL(0,4) ?", "opts: expected NAME(axis, arg), not '?'"),
        ("LOCAL(0,4) UPKAST(0,4)", "opts: 'UPKAST' is no Opt: there are TC UPCAST UNROLL LOCAL GROUP "),
        ("[1", "opts: no JSON: "),
        ("[1]", "opts: an Opt is an object of op, axis and arg"),
        ('[{"op": "UPCAST", "axis": 0.5}]', "opts: the axis of an Opt is an integer, not 0.5"),
        ('[{"op": "UPCAST", "axis": NaN}]', "opts: NaN is no JSON number"),
    ],
)
def test_read_opts_says_what_it_cannot_read(text: str, message: str) -> None:
    with pytest.raises(RequestError) as error:
        read_opts(text)
    assert str(error.value).startswith(message)
    assert error.value.code == "invalid_request"


if __name__ == "__main__":
    for golden, (options, _) in EXPLAINED.items():
        (GOLDEN / f"{golden}.txt").write_text(explain(CORPUS, *options).stdout)
