"""`rushlight compare`: names the first operator whose value differs from the value in the model."""

from __future__ import annotations

import argparse
import json
from typing import Any

from rushlight.cli.arguments import Commands, add_program_options, at_least, count_text, read_inputs
from rushlight.cli.exit_codes import DIFFERENT, EPILOG, OK
from rushlight.cli.records import add_record_options, record_of, traced
from rushlight.runtime import Method

_STAGES = {"eager": "exported_program", "edge": "edge_dialect_exported_program"}


def add_to(commands: Commands) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "compare",
        help="name the first operator whose value differs from the value in the model",
        description="Runs the model in PyTorch and the program on the same inputs, and compares the values "
        "of each operator, also inside delegates.",
        epilog=f"example: rushlight compare model.pte --module model.py:factory\n{EPILOG}",
    )
    add_program_options(parser, "the example inputs of the model")
    add_record_options(parser)
    parser.add_argument(
        "--stage",
        metavar="NAME",
        default="eager",
        help="the graph with which the program is compared: eager, the exported model; edge, the edge "
        "program; or another graph of the ETRecord (default: %(default)s)",
    )
    parser.add_argument(
        "--rtol",
        type=at_least(0.0),
        metavar="RATIO",
        help="the allowed absolute error, divided by the largest absolute value of the tensor (default: "
        "0.001; 0.02 for float16, 0.05 for bfloat16)",
    )
    parser.add_argument(
        "--atol",
        type=at_least(0.0),
        default=0.0,
        metavar="ERROR",
        help="an absolute error that is allowed in addition to --rtol (default: 0)",
    )
    parser.add_argument(
        "--comparator",
        choices=("max", "mse", "l1", "snr", "cosine"),
        default="max",
        help="the metric of the comparison: a value is wrong if its metric is worse than the metric of a "
        "value with the allowed error in each element (default: %(default)s, the largest absolute error)",
    )
    parser.add_argument(
        "--accumulate",
        action="store_true",
        help="let errors add up along the program (default: each operator of the model gets the inputs "
        "that the program computed, so that an error appears only at the operator that causes it)",
    )
    parser.add_argument("--all", action="store_true", help="print a table of all compared values")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Prints the first operator with a wrong value. Returns OK if there is none, else DIFFERENT."""
    import torch

    from rushlight.devtools.inspector.departure import compare_values
    from rushlight.devtools.inspector.gaps import inputs_of

    record = record_of(options)
    given: list[object] = []

    def inputs(method: Method) -> list[Any]:
        name = method.metadata.name()
        given[:] = read_inputs(method.metadata, options.inputs) if options.inputs else inputs_of(record, name)
        return given

    inspector, _ = traced(options, inputs, 1, record, values=True)
    flat = [torch.as_tensor(value) if hasattr(value, "__array__") else value for value in given]
    comparison = compare_values(
        inspector,
        flat,
        _STAGES.get(options.stage, options.stage),
        options.rtol,
        absolute=options.atol,
        comparator=options.comparator,
        accumulate=options.accumulate,
    )
    first = comparison.first
    if options.json:
        print(json.dumps(comparison.asdict(), indent=2))
    else:
        if options.all:
            print(comparison.table())
        print(f"{count_text(len(comparison.steps), 'value')} compared with {options.stage}")
        print("all values agree" if first is None else f"first difference: {first.describe()}")
    return OK if first is None else DIFFERENT
