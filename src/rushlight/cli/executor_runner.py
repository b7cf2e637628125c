"""The command `executor_runner`. It runs in the native extension, so that a wheel has one runtime only."""

from __future__ import annotations

import signal
import sys

from rushlight.runtime import _native


def main() -> int:
    """Loads a .pte file, runs one of its methods and prints the outputs.

    Returns:
        The exit code: 0 for success, 1 for an error, 2 for a wrong command line.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python's handler cannot run during native code
    return _native.executor_runner(["executor_runner", *sys.argv[1:]])
