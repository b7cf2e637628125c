"""The command `executor_runner`, which runs in the extension: a wheel has the runtime once."""

from __future__ import annotations

import signal
import sys

from rushlight.runtime import _native


def main() -> int:
    """Loads a .pte file, runs one of its methods and prints the outputs.

    Returns:
        The exit status: 0, 1 after an error, 2 for a wrong command line.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # native code does not return to Python's handler
    return _native.executor_runner(["executor_runner", *sys.argv[1:]])
