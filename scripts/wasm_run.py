"""Runs a program of WebAssembly on one folder: `wasm_run.py [--folder FOLDER] PROGRAM ARGUMENTS`.

`pip install wasmtime` brings what it needs. `wasmtime run --dir FOLDER PROGRAM ARGUMENTS` does the same.
"""

from __future__ import annotations

import argparse
import os
import sys

import wasmtime

# What the runtime reads of the environment.
PREFIX = "RUSHLIGHT_"


def run(program: str, arguments: list[str], folder: str) -> int:
    """Its exit status; 134 if it was stopped by a trap, whose reason is printed."""
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
    """Runs what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", default=".", help="whose files the program sees, as its own folder")
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    return run(args.program, args.arguments, args.folder)


if __name__ == "__main__":
    sys.exit(main())
