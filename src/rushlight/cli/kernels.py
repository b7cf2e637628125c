"""`rushlight kernels`: the kernels of this runtime."""

from __future__ import annotations

import argparse

from rushlight.cli.arguments import Commands, add_library_option, load_libraries
from rushlight.runtime.kernels import kernel_table


def add_to(commands: Commands) -> None:
    """Declares the subcommand."""
    parser = commands.add_parser(
        "kernels", help="print the operators and dtypes that this runtime has kernels for"
    )
    parser.add_argument(
        "--library", metavar="NAME", help="portable, optimized, quantized or the name of a loaded one alone"
    )
    add_library_option(parser)
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> None:
    """Prints one kernel a line: the operator, then the dtypes of its first tensor argument."""
    load_libraries(options)
    print(kernel_table(options.library), end="")
