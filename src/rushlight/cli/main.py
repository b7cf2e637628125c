"""Parses the command line and runs one subcommand."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence

from rushlight import __version__
from rushlight.cli import bench, compile, config, info, kernels, quantize, run

# These modules log warnings about their own build and deprecations while they are imported.
_CHATTY = ("torchao", "torch.utils._pytree")


def parser() -> argparse.ArgumentParser:
    """Makes the parser. Each subcommand stores its function as the option `command`."""
    top = argparse.ArgumentParser(
        prog="rushlight", description="Compile, quantize, inspect, run and measure .pte programs."
    )
    top.add_argument("--version", action="version", version=f"rushlight {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    for module in (run, info, bench, compile, quantize, kernels, config):
        module.add_to(commands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command.

    Args:
        arguments: the arguments; None means those of the process.

    Returns:
        0, or 1 after an error, which is printed. Wrong usage exits the process with 2.
    """
    options = parser().parse_args(arguments)
    for name in _CHATTY:
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        options.command(options)
    except BrokenPipeError:
        sys.stderr.close()
    except (OSError, RuntimeError, ValueError, ImportError) as error:
        print(f"rushlight: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
