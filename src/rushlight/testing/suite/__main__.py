"""Runs the suite of operator tests: `python -m rushlight.testing.suite`."""

from __future__ import annotations

import sys

from rushlight.testing.suite.runner import runner_main

if __name__ == "__main__":
    sys.exit(runner_main())
