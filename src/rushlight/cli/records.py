"""Finds or creates the ETRecord of a program, and runs the program with an event trace."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rushlight
from rushlight.cli.arguments import load_libraries, load_program, method_name
from rushlight.cli.backends import add_backend_options, partitioners
from rushlight.cli.factory import import_python, load_model
from rushlight.cli.interrupts import cancellable
from rushlight.devtools.inspector.inspector import Inspector
from rushlight.devtools.inspector.perf import TimeScale
from rushlight.devtools.view.program import method_graphs
from rushlight.format.pte import PTEFile, read_pte, read_pte_file
from rushlight.runtime import Method
from rushlight.runtime.errors import InvalidArgumentError

if TYPE_CHECKING:
    from rushlight.devtools.etrecord.record import ETRecord

RUNS = 20

# The sizes of the buffers for events and for values, in bytes. If the events do not fit, the runs are
# repeated with a larger buffer.
_FIRST_CAPACITY, _LAST_CAPACITY = 1 << 24, 1 << 33


def add_record_file_option(parser: argparse.ArgumentParser) -> None:
    """Adds the option for the ETRecord of a program."""
    parser.add_argument(
        "--etrecord",
        type=Path,
        metavar="FILE",
        help="the ETRecord of the program, which `rushlight compile --etrecord` writes (default: the file "
        "next to the program with the ending .etrecord instead of .pte, if it exists)",
    )
    parser.add_argument(
        "--import",
        dest="imports",
        nargs="+",
        default=[],
        metavar="FILE.py",
        help="Python files or modules that register the custom operators of the ETRecord",
    )


def record_file(options: argparse.Namespace) -> Path | None:
    """Returns the ETRecord of the options, else the ETRecord next to the program; None if neither exists.

    It also imports the modules of the option --import, because reading the ETRecord needs their operators.
    """
    for where in options.imports:
        import_python(where)
    program = Path(options.program)
    default = program.parent / f"{program.stem}.etrecord"
    given: Path | None = options.etrecord
    return given or (default if default.exists() else None)


def add_record_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options for the ETRecord of a program, or for the model from which it was compiled."""
    add_record_file_option(parser)
    parser.add_argument(
        "--module",
        metavar="FILE.py:FACTORY",
        help="the function that returns the model of the program, or a .pt2 file. It replaces the "
        "ETRecord; also give the options with which the program was compiled",
    )
    add_backend_options(parser)


def record_of(options: argparse.Namespace, hint: str = "") -> ETRecord:
    """Reads or creates the ETRecord of the program that the options name.

    Args:
        options: the parsed options.
        hint: the end of the error message if there is neither an ETRecord nor a model.

    Raises:
        FormatError: the program is damaged.
        InvalidArgumentError: there is no ETRecord and no model, or the model compiles to other instructions.
        DevtoolsError: the ETRecord is damaged, or belongs to another program.
    """
    path = Path(options.program)
    file = read_pte_file(path)
    found = record_file(options)
    if found is not None and (options.etrecord is not None or options.module is None):
        from rushlight.devtools.etrecord.saved import parse_etrecord_of

        return parse_etrecord_of(path, found)
    if options.module is None:
        raise InvalidArgumentError(
            f"the model of {path} is not known: give --etrecord with a file that `rushlight compile "
            f"--etrecord` wrote, or --module FILE.py:FACTORY{hint}"
        )
    load_libraries(options)
    _, model, inputs = load_model(options.module)
    program = rushlight.compile(model, inputs, partitioner=partitioners(options), generate_etrecord=True)
    ours = _operators(file)
    for name, wanted in _operators(read_pte(program.buffer)).items():
        if ours.get(name) != wanted:
            raise InvalidArgumentError(
                f"{path} was not compiled from {options.module} with these options: the operators of "
                f"method {name!r} are {_short(ours.get(name))}, but the compiled model has {_short(wanted)}; "
                "give the options with which the program was compiled, such as --backend, or give its "
                "--etrecord"
            )
    record = program.get_etrecord()
    record.forget_program()  # the weights of the program may differ
    return record


def _operators(file: PTEFile) -> dict[str, list[tuple[str, int]]]:
    """Returns the operators of each method, also inside delegates, with the debug handles of steps."""
    return {
        graph.name: [(node.name, node.handle) for node in graph.nodes if node.instruction >= 0]
        for graph in method_graphs(file)
    }


def _short(operators: list[tuple[str, int]] | None) -> str:
    if operators is None:
        return "missing"
    names = ", ".join(name for name, _ in operators[:4]) or "absent"
    return names + (f" ... ({len(operators)})" if len(operators) > 4 else "")


def _repeat(method: Method, inputs: list[Any], runs: int, check: Callable[[], None]) -> None:
    for _ in range(runs):
        check()
        method.execute(inputs)


def traced(
    options: argparse.Namespace,
    inputs: Callable[[Method], list[Any]],
    runs: int,
    record: ETRecord | None,
    values: bool = False,
) -> tuple[Inspector, bytes]:
    """Runs a method and records its events.

    Args:
        options: the parsed options, as of `add_program_options`.
        inputs: a function that returns the inputs for a method.
        runs: the number of runs.
        record: the ETRecord of the program, or None.
        values: whether to record the outputs of all operators.

    Returns:
        The inspector, with times in us, and the bytes of the ETDump.
    """
    capacity = _FIRST_CAPACITY
    while True:
        program = load_program(
            options,
            enable_etdump=True,
            debug_buffer_size=capacity if values else 0,
            etdump_buffer_size=capacity,
        )
        method = program.load_method(method_name(program.method_names, options))
        given = inputs(method)
        cancellable(method, partial(_repeat, method, given, runs))
        with warnings.catch_warnings():
            is_last = capacity >= _LAST_CAPACITY
            warnings.simplefilter("default" if is_last else "ignore")
            dump, buffer = program.etdump()
            inspector = Inspector(
                etdump_data=dump,
                etrecord=record,
                target_time_scale=TimeScale.US,
                debug_buffer=buffer if values else None,
            )
        if not inspector.dropped_events or is_last:
            return inspector, dump
        capacity *= 8
