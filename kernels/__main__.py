"""The compile core's command line: `python -m kernels explain FILE [--opts OPTS]`.

Exit codes: 0 explained, 1 an Opt was refused, 2 the request or the file is wrong (one line says how).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import nullcontext, suppress

from kernels.errors import KernelsError
from kernels.explain import explain
from kernels.explain_request import RequestError, read_kernel, read_opts, read_target
from kernels.ir import Ast

REFUSED = 1
WRONG = 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m kernels", description="Look at kernels. Needs no device.")
    command = parser.add_subparsers(dest="command", required=True).add_parser(
        "explain",
        help="a kernel as an expression, and what Opts make of its axes",
        description="Print a kernel's name, key, buffers and expression, and its axes after each Opt. "
        "Stops at the first Opt that is refused and says why (exit code 1).",
    )
    command.add_argument("file", help="a kernel-ast/1 document, a {name, ast} object or lines of those; - is stdin")
    command.add_argument("--name", help="which kernel of the file")
    command.add_argument(
        "--opts",
        default="",
        help="'UPCAST(0, 4) LOCAL(1, 8)', their JSON, or 'heuristic' for those chosen by rule",
    )
    command.add_argument("--target", default="opencl", help="opencl (the default), or a CUDA architecture as sm_80")
    command.add_argument("--shared-max", type=int, metavar="BYTES", help="shared memory of a work-group")
    command.add_argument("--source", action="store_true", help="print the program's launch and source as well")
    command.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="auto: on a terminal")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code."""
    request = _parser().parse_args(arguments)
    try:
        opts, target = read_opts(request.opts), read_target(request.target, request.shared_max)
        name, ast = _kernel_of(request.file, request.name)
        colour = request.color == "always" or (request.color == "auto" and sys.stdout.isatty())
        explanation = explain(ast, target, opts, name, colour, request.source)
        print(explanation.text, flush=True)
    except BrokenPipeError:  # whoever reads has gone
        with suppress(BrokenPipeError):
            sys.stdout.close()  # what is left in it would be written again, and complained of, at the end
        return WRONG
    except KernelsError as error:
        print(f"error: {error}", file=sys.stderr)
        return WRONG
    return REFUSED if explanation.refused else 0


def _kernel_of(path: str, name: str | None) -> tuple[str | None, Ast]:
    """(name, AST) of the kernel that is asked for. Raises RequestError naming the file."""
    shown = "stdin" if path == "-" else path
    try:
        with nullcontext(sys.stdin.buffer) if path == "-" else open(path, "rb") as file:
            return read_kernel(file.read().decode("utf-8"), name)
    except OSError as error:
        raise RequestError(f"{shown}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise RequestError(f"{shown}: no UTF-8 text") from error
    except KernelsError as error:
        raise RequestError(f"{shown}: {error}") from error


if __name__ == "__main__":
    sys.exit(main())
