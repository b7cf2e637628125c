"""`rushlight run`: runs a method once."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from rushlight.cli.arguments import Commands, add_program_options, load_method, load_program, read_inputs


def add_to(commands: Commands) -> None:
    """Declares the subcommand."""
    parser = commands.add_parser("run", help="run a method and print or save its outputs")
    add_program_options(parser)
    parser.add_argument("--outputs", type=Path, metavar="DIR", help="save output i as DIR/output_i.npy")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> None:
    """Runs the method; prints each output, or saves tensors as .npy files."""
    method = load_method(load_program(options), options)
    outputs = method.execute(read_inputs(method.metadata, options.inputs))
    if options.outputs:
        options.outputs.mkdir(parents=True, exist_ok=True)
    for index, value in enumerate(outputs):
        print(f"output {index}: {_text(value)}")
        if options.outputs and isinstance(value, np.ndarray):
            np.save(options.outputs / f"output_{index}.npy", value)


def _text(value: Any) -> str:
    if not isinstance(value, np.ndarray):
        return repr(value)
    shape = ", ".join(map(str, value.shape))
    numbers = np.array2string(value, threshold=20, edgeitems=3, separator=", ")
    return f"{value.dtype}[{shape}]" + ("\n" if "\n" in numbers else " ") + numbers
