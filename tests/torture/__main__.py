"""`python -m tests.torture`: see CONTRIBUTING.md."""

from __future__ import annotations

import argparse
import os
import sys

# Libraries that start threads when they are imported would leave them in the parent of all forks.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.torture",
        description="Compiles random modules in every configuration and compares them with eager PyTorch.",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=10_000, help="how many")
    parser.add_argument("--start", type=int, default=0, help="the first index")
    parser.add_argument("--index", type=int, help="one case alone, with its source")
    parser.add_argument("--case", metavar="FILE", help="a case that was written as .json, alone")
    parser.add_argument("--kinds", default="", help="only kinds that begin so")
    parser.add_argument("--configurations", default="", help="some of kernels,default,high,xnnpack")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--output", default="build/torture", help="the folder of results")
    parser.add_argument("--resume", action="store_true", help="leave out what the folder has results of")
    parser.add_argument("--minimise", type=int, default=3, help="how many failures that look alike")
    parser.add_argument("--seconds", type=float, default=180.0, help="for minimising one failure")
    parser.add_argument("--native", metavar="FILE", help="the extension module, instead of the installed one")
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
