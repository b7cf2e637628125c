"""Functions that give a file to a command or a tool of the package, without its handler of exceptions."""

from __future__ import annotations

import contextlib
import io
import warnings
from functools import cache
from pathlib import Path

from tests.programs import CASES

import rushlight
from rushlight.cli.arguments import read_inputs
from rushlight.cli.main import parser
from rushlight.compat.native.package import read_ptn
from rushlight.compat.native.tables import deserialize_program
from rushlight.compat.program_files import deserialize_pte_binary
from rushlight.compat.saved_programs import load as load_edge_program
from rushlight.devtools.inspector.inspector import Inspector
from rushlight.runtime import Program, Runtime, aten
from rushlight.runtime.pytree import parse_names, parse_tree

MAX_INSTRUCTIONS = 1000  # of a program that a tool runs
MAX_MEMORY = 1 << 22  # bytes of a program that a tool runs


def command(*arguments: object) -> None:
    """Runs a command, and discards what it prints. An argument may be a path."""
    options = parser().parse_args([str(argument) for argument in arguments])
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options.command(options)


def program_commands(path: Path) -> None:
    """Runs the commands that print the parts of a program."""
    page = path.with_name("page.html")
    for arguments in (("info", path), ("size", path), ("diff", path, path), ("upgrade", path)):
        command(*arguments)
    command("inspect", path, "--html", page)


def program_as_c(path: Path) -> None:
    """Writes a program as C code."""
    command("aot-c", path, "--out", path.with_name("c"), "--name", "net")


def bundle_as_c(path: Path) -> None:
    """Writes a bundled program and its test cases as C code."""
    command("aot-c", path, "--out", path.with_name("c"), "--name", "net", "--check")


def loaded_program(path: Path) -> None:
    """Loads a program in all ways, and prints its metadata. Does not run it."""
    str(rushlight.load(path, max_instructions=MAX_INSTRUCTIONS, max_memory=MAX_MEMORY, threads=1))
    program = Runtime.get().load_program(path)
    on_torch = aten.Runtime.get().load_program(path)
    for name in sorted(program.method_names):
        str(program.metadata(name))
        on_torch.load_method(name)


def structure(path: Path) -> None:
    """Reads the structure of the inputs of a method."""
    text = path.read_text(encoding="utf-8", errors="replace")
    tree = parse_tree(text)
    if tree is not None:
        parse_names(text)


def event_trace(path: Path) -> None:
    """Reads an ETDump, and writes its tables and its trace."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inspector = Inspector(etdump_path=path, debug_buffer=bytes(1 << 14))
        inspector.rows()
        with contextlib.redirect_stdout(io.StringIO()):
            inspector.print_data_tabular()
        inspector.save_trace(path.with_suffix(".json"))


def package(path: Path) -> None:
    """Reads a package (.ptn) and its program."""
    program, _ = read_ptn(path)
    deserialize_program(program)


def edge_program(path: Path) -> None:
    """Reads a saved edge program."""
    load_edge_program(str(path))


def pte_binary(path: Path) -> None:
    """Reads a program with the function that has ExecuTorch's name."""
    deserialize_pte_binary(path.read_bytes())


@cache
def _digits_program() -> Program:
    return Runtime.get().load_program(rushlight.compile(CASES["digits_cnn"].export(), partitioner=()).buffer)


def inputs(path: Path) -> None:
    """Reads a file of arrays or an image for the inputs of a network for images."""
    read_inputs(_digits_program().metadata("forward"), [str(path)])
