"""`rushlight compile`: compiles a model to a .pte file. The model comes from a Python file or a .pt2 file."""

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
from rushlight.cli.backends import add_backend_options, add_explain_option, explanation, partitioners
from rushlight.cli.factory import load_model
from rushlight.memory.hierarchy import Memory


def add_to(commands: Commands) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "compile",
        help="compile a model to a .pte file (needs rushlight[compile])",
        description="Compiles a model to a .pte file. The model is the result of FACTORY(), a Python "
        "function that returns the model and a tuple of its example inputs.",
        epilog="example: rushlight compile model.py:factory -o model.pte --etrecord model.etrecord",
    )
    parser.add_argument(
        "factory",
        metavar="FILE.py:FACTORY",
        help="the function that returns the model, also as package.module:FACTORY; or a .pt2 file that "
        "torch.export.save wrote",
    )
    add_output_option(parser, "FACTORY.pte")
    add_backend_options(parser)
    add_explain_option(parser)
    add_record_output_option(parser)
    parser.add_argument(
        "--digest",
        action="store_true",
        help="write a SHA-256 digest of the file into it, which `rushlight.load(..., verify_digest=True)` "
        "checks",
    )
    parser.add_argument(
        "--memory",
        action="append",
        type=_memory,
        default=[],
        metavar="NAME:SIZE[:COST]",
        help="a memory of the device, for example sram:256K:1 or dram::8. Repeat the option for several "
        "memories; the first one has the memory id 1 in the program. SIZE is in bytes, with K (KiB) or M "
        "(MiB), and empty for no limit. COST is the cost of reading or writing one byte (default: 1)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_library_option(parser)
    parser.set_defaults(command=run)


def _memory(text: str) -> Memory:
    """Parses a value of --memory."""
    try:
        name, size, cost = text.split(":") if text.count(":") > 1 else (*text.split(":"), "1")
        factor = {"K": 1024, "M": 1024**2}.get(size[-1:].upper(), 1)
        bytes_of = int(size[:-1] if factor > 1 else size) * factor if size else None
        return Memory(name, 1, bytes_of, float(cost))
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not of the form NAME:SIZE[:COST], such as sram:256K:1.0"
        ) from error


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
