"""Parses the command line and runs one subcommand."""

from __future__ import annotations

import argparse
import difflib
import logging
import sys
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn, TextIO

from rushlight import __version__
from rushlight.cli import (
    aot_c,
    bench,
    compare,
    compile,
    completion,
    config,
    diff,
    generate,
    info,
    inspect,
    kernels,
    profile,
    quantize,
    run,
    select,
    size,
    upgrade,
)
from rushlight.cli.exit_codes import EPILOG, ERROR, INTERRUPTED, OK, USAGE
from rushlight.cli.factory import user_line

_COMMANDS = (
    compile,
    run,
    info,
    inspect,
    size,
    diff,
    compare,
    profile,
    bench,
    generate,
    quantize,
    kernels,
    select,
    aot_c,
    upgrade,
    config,
    completion,
)

# During their import, these modules log warnings about their own build and deprecations.
_NOISY_LOGGERS = ("torchao", "torch.utils._pytree")


class _HelpFormatter(argparse.HelpFormatter):
    """Wraps each line of a text separately. Lines with an example are not wrapped; users can copy them."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(
            indent + line
            if line.startswith("example: ")
            else super(_HelpFormatter, self)._fill_text(line, width, indent)
            for line in text.splitlines()
        )


class _CommandParser(argparse.ArgumentParser):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options, formatter_class=_HelpFormatter)

    def parse_known_args(  # type: ignore[override]
        self, args: Any = None, namespace: Any = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parses the options of the subcommand. An unknown option is an error of the subcommand."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            close = difflib.get_close_matches(unknown[0].partition("=")[0], self._option_string_actions, 1)
            hint = f"; did you mean {close[0]}?" if close else ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """Prints the error without the long list of all options, and ends the process."""
        self.exit(USAGE, f"{self.prog}: error: {message}\n`{self.prog} --help` shows the options\n")


def parser() -> argparse.ArgumentParser:
    """Returns the parser of the command line. Each subcommand stores its function in the option `command`."""
    top = argparse.ArgumentParser(
        prog="rushlight",
        description="Compile, quantize, inspect, run and measure .pte programs.",
        epilog=f"{EPILOG} `rushlight COMMAND --help` shows an example.",
    )
    top.add_argument("--version", action="version", version=f"rushlight {__version__}")
    commands = top.add_subparsers(
        metavar="COMMAND",
        required=True,
        parser_class=_CommandParser,
    )
    for module in _COMMANDS:
        module.add_to(commands)
    return top


def _print_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Prints a warning without the source line of the library that raised it."""
    print(f"rushlight: warning: {message}", file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command.

    Args:
        arguments: the command line; None means the arguments of the process.

    Returns:
        The exit code: OK, DIFFERENT, INTERRUPTED after Ctrl-C, or ERROR after an error message was printed. A
        wrong command line ends the process with USAGE.
    """
    try:
        options = parser().parse_args(arguments)
        for name in _NOISY_LOGGERS:
            logging.getLogger(name).setLevel(logging.ERROR)
        with warnings.catch_warnings():
            warnings.showwarning = _print_warning
            return int(options.command(options) or OK)
    except KeyboardInterrupt:
        return _failed("interrupted", INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()
    except OSError as error:
        is_named = error.strerror is not None and error.filename is not None
        return _failed(f"{error.strerror}: {str(error.filename)!r}" if is_named else str(error))
    except ModuleNotFoundError as error:
        needs = error.name in ("torch", "torchao")
        return _failed(f"{error}: pip install 'rushlight[compile]'" if needs else str(error))
    except (RuntimeError, ValueError, ImportError) as error:
        return _failed(str(error))
    except Exception as error:  # the user's Python code may raise any exception
        place = user_line(error)
        if place is None:
            raise
        return _failed(f"{place}: {type(error).__name__}: {error}")
    return OK


def _failed(message: str, code: int = ERROR) -> int:
    print(f"rushlight: {message}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
