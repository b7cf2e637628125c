"""`python -m tests.torture`: see CONTRIBUTING.md."""

from __future__ import annotations

import argparse
import os
import sys

# Some libraries start threads when they are imported. The parent process must have no threads before it
# forks.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.torture",
        description="Compiles random modules in every configuration and compares them with eager PyTorch.",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=10_000, help="the number of cases")
    parser.add_argument("--start", type=int, default=0, help="the index of the first case")
    parser.add_argument("--index", type=int, help="run only the case with this index, and print its source")
    parser.add_argument("--case", metavar="FILE", help="run only the case in this .json file")
    parser.add_argument("--kinds", default="", help="run only kinds with this prefix")
    parser.add_argument(
        "--configurations",
        default="",
        help="comma-separated configurations: kernels,default,high,xnnpack; further: one of the others",
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--output", default="build/torture", help="the folder for results")
    parser.add_argument("--resume", action="store_true", help="skip cases whose results are in the folder")
    parser.add_argument("--minimise", type=int, default=3, help="the number of similar failures to minimise")
    parser.add_argument("--seconds", type=float, default=180.0, help="time limit for minimising one failure")
    parser.add_argument(
        "--native", metavar="FILE", help="an extension module to test instead of the installed one"
    )
    parser.add_argument(
        "--sanitized",
        metavar="FILE",
        default="",
        help="an extension module built with sanitizers; programs run in a process with it",
    )
    arguments = parser.parse_args()
    if arguments.native:
        from tests import native

        native.use(arguments.native)
    from tests.torture import command

    return command.main(arguments)


if __name__ == "__main__":
    sys.exit(main())
