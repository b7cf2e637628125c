"""Runs Python code that imports `executorch`, so that all its modules come from Rushlight.

The arguments are those of `python`: a file, `-m MODULE` or `-c CODE`, then the arguments of the program. The
options before them are:

    --path FOLDER    a folder with more submodules of `executorch`, such as `examples`; repeatable
"""

from __future__ import annotations

import importlib
import os
import runpy
import sys
from collections.abc import Sequence

from rushlight.compat.install import install_as_executorch

USAGE = "usage: python -m rushlight.compat [--path FOLDER]... (FILE | -m MODULE | -c CODE) [ARGUMENT]..."


def main(arguments: Sequence[str]) -> None:
    """Runs the program with the name `__main__`, after `install_as_executorch()`.

    Args:
        arguments: the options and the arguments of the program.

    Raises:
        SystemExit: the arguments name no program. This also passes on an exit of the program.
    """
    rest, folders = list(arguments), []
    while rest and rest[0] == "--path":
        folders += rest[1:2]
        del rest[:2]
    named = rest[0] in ("-m", "-c") if rest else False
    if not rest or (named and len(rest) == 1) or (rest[0].startswith("-") and not named):
        raise SystemExit(USAGE)
    install_as_executorch()
    if folders:
        importlib.import_module("executorch").__path__.extend(folders)
    if not named:
        sys.argv[:] = rest
        sys.path[0] = os.path.dirname(os.path.abspath(rest[0]))
        runpy.run_path(rest[0], run_name="__main__")
        return
    sys.path[0] = ""
    option, program, *rest = rest
    sys.argv[:] = [option, *rest]
    if option == "-m":
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})


if __name__ == "__main__":
    main(sys.argv[1:])
