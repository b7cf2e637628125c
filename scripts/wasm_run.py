"""Runs a WebAssembly program with access to one folder: `wasm_run.py [--folder FOLDER] PROGRAM ARGUMENTS`.

It needs the package wasmtime. `wasmtime run --dir FOLDER PROGRAM ARGUMENTS` does the same.
"""

from __future__ import annotations

import argparse
import os
import sys

import wasmtime

# The environment variables that the runtime reads.
PREFIX = "RUSHLIGHT_"


def run(program: str, arguments: list[str], folder: str) -> int:
    """Runs a program and returns its exit status: 134 after a trap, whose reason is printed."""
    engine = wasmtime.Engine()
    linker, store = wasmtime.Linker(engine), wasmtime.Store(engine)
    linker.define_wasi()
    wasi = wasmtime.WasiConfig()
    wasi.argv = [program, *arguments]
    wasi.env = [(name, value) for name, value in os.environ.items() if name.startswith(PREFIX)]
    wasi.inherit_stdin()
    wasi.inherit_stdout()
    wasi.inherit_stderr()
    wasi.preopen_dir(folder, ".")
    store.set_wasi(wasi)
    instance = linker.instantiate(store, wasmtime.Module.from_file(engine, program))
    start = instance.exports(store)["_start"]
    assert isinstance(start, wasmtime.Func)
    try:
        start(store)
    except wasmtime.ExitTrap as ended:
        return int(ended.code)
    except wasmtime.Trap as trap:
        print(trap, file=sys.stderr)
        return 134
    return 0


def main() -> int:
    """Runs the program of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--folder", default=".", help="the folder that the program sees as its working folder"
    )
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    return run(args.program, args.arguments, args.folder)


if __name__ == "__main__":
    sys.exit(main())
