"""`rushlight compile`: compiles a model of a Python file to a .pte file."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

import rushlight
from rushlight.cli.arguments import (
    Commands,
    add_library_option,
    add_output_option,
    add_record_output_option,
    check_folder,
    check_output,
    load_libraries,
    size_text,
)
from rushlight.cli.backends import add_backend_options, explanation, partitioners
from rushlight.cli.factory import load_model
from rushlight.memory.hierarchy import Memory


def add_to(commands: Commands) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "compile",
        help="compile a model (needs rushlight[compile])",
        description="FACTORY() returns the model and a tuple of its example inputs.",
        epilog="example: rushlight compile model.py:factory -o model.pte --etrecord model.etrecord",
    )
    parser.add_argument(
        "factory",
        metavar="FILE.py:FACTORY",
        help="or package.module:FACTORY, or a .pt2 file of torch.export.save",
    )
    add_output_option(parser, "FACTORY.pte")
    add_backend_options(parser)
    add_record_output_option(parser)
    parser.add_argument(
        "--digest",
        action="store_true",
        help="write a SHA-256 digest into the program, which a loader that asks for it checks",
    )
    parser.add_argument(
        "--memory",
        action="append",
        type=_memory,
        default=[],
        metavar="NAME:SIZE[:COST]",
        help="a memory of the device, for example sram:256K:1 and dram::8; the first one has the number 1 in "
        "the program. SIZE is in bytes, K or M, and empty for no limit; COST is that of reading or writing a "
        "byte",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_library_option(parser)
    parser.set_defaults(command=run)


def _memory(text: str) -> Memory:
    """Reads a memory: its name, size and cost."""
    name, *rest = text.split(":")
    try:
        size, cost = rest if len(rest) > 1 else (*rest, "1")
        factor = {"K": 1024, "M": 1024**2}.get(size[-1:].upper(), 1)
        bytes_of = int(size[:-1] if factor > 1 else size) * factor if size else None
        return Memory(name, 1, bytes_of, float(cost))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no memory such as sram:256K:1.0: {error}") from error


def run(options: argparse.Namespace) -> None:
    """Compiles the model and writes the file. If compiling fails, no incomplete file is left."""
    check_output(options.output)
    check_folder("--etrecord", options.etrecord)
    load_libraries(options)
    chosen = partitioners(options)
    name, model, example_inputs = load_model(options.factory)
    output = options.output or Path(f"{name}.pte")
    has_record = options.etrecord is not None
    with rushlight.show_progress():
        program = rushlight.compile(
            model,
            example_inputs,
            partitioner=chosen,
            generate_etrecord=has_record,
            memories=[replace(memory, id=i) for i, memory in enumerate(options.memory, 1)],
            digest=options.digest,
        )
    program.save(output)
    if has_record:
        program.get_etrecord().save(options.etrecord)
    tables = explanation(options, chosen)
    if options.json:
        facts = {"program": str(output), "bytes": output.stat().st_size, "explanation": tables}
        print(json.dumps(facts | ({"etrecord": str(options.etrecord)} if has_record else {})))
        return
    for table in tables:
        print(table)
    print(f"{output}: {size_text(output.stat().st_size)}")
