"""`rushlight kernels`: prints the operators and dtypes for which this runtime has kernels."""

from __future__ import annotations

import argparse
import json

from rushlight.cli.arguments import Commands, add_library_option, load_libraries
from rushlight.runtime.kernels import kernel_table


def add_to(commands: Commands) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "kernels",
        help="print the operators and dtypes for which this runtime has kernels",
        description="Prints each operator for which this runtime has a kernel, and the dtypes that the "
        "kernel supports.",
        epilog="example: rushlight kernels --library portable",
    )
    parser.add_argument(
        "--library",
        metavar="NAME",
        help="print only the kernels of this library: portable, optimized, quantized, or the name of a "
        "library that --kernel-library loads",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_library_option(parser)
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> None:
    """Prints one kernel in each line: the operator, then the dtypes of its tensors."""
    load_libraries(options)
    table = kernel_table(options.library)
    if not options.json:
        print(table, end="")
        return
    kernels: dict[str, list[list[str]]] = {}
    for name, *dtypes in (line.split(" ") for line in table.splitlines()):
        kernels.setdefault(name, []).append(dtypes)
    print(json.dumps(kernels, indent=2))
