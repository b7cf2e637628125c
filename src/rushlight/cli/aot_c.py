"""`rushlight aot-c`: writes a program as plain C99."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from rushlight.aot_c.code import identifier, is_identifier
from rushlight.aot_c.program import c_program
from rushlight.aot_c.project import check_program, cmake_project
from rushlight.cli.arguments import Commands
from rushlight.devtools.bundled_program.serialize import deserialize_from_flatbuffer_to_bundled_program
from rushlight.files import write_file
from rushlight.runtime.errors import InvalidArgumentError
from rushlight.select.usage import is_bundled_program, program_of


def add_to(commands: Commands) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "aot-c",
        help="write a program as plain C99: no interpreter, no parser, no heap",
        epilog="example: rushlight aot-c model.pte --out model_c && "
        "cc -std=c99 -O2 -c model_c/model.c -o model.o\n"
        "Then call model_forward(in, out) of model_c/model.h.",
    )
    parser.add_argument(
        "file", type=Path, metavar="FILE", help="a program (.pte) or one with test cases (.bpte)"
    )
    parser.add_argument(
        "-o", "--out", type=Path, required=True, metavar="FOLDER", help="the folder of the files"
    )
    parser.add_argument(
        "--name",
        metavar="NAME",
        help="the prefix of the functions and files (default: that of the program's file)",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="add a main.c that runs the test cases of a .bpte file, prints the bits of the results, and OK",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> None:
    """Writes the files."""
    if options.out.is_file():
        raise InvalidArgumentError(f"--out {options.out}: this is a file; give the name of a folder")
    name = options.name or identifier(options.file.stem)
    if not is_identifier(name):
        raise InvalidArgumentError(f"--name {name}: C programs cannot use this name")
    data = options.file.read_bytes()
    if options.check and not is_bundled_program(data):
        raise InvalidArgumentError(
            f"--check needs test cases, but {options.file} is no .bpte file; see docs/bundled-programs.md"
        )
    program = c_program(program_of(data), name, options.file.name)
    files = {**program.files, "CMakeLists.txt": cmake_project(name, options.check)}
    if options.check:
        bundle = deserialize_from_flatbuffer_to_bundled_program(data)
        files["main.c"] = check_program(program, name, bundle.method_test_suites)
    options.out.mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        write_file(options.out / file, text)
    if options.json:
        facts = {
            "folder": str(options.out),
            "files": sorted(files),
            "functions": {method.name: method.function for method in program.methods.values()},
            "operators": sorted(program.operators),
            "constant_bytes": program.constant_bytes,
            "memory_bytes": program.memory_bytes,
        }
        print(json.dumps(facts, indent=2))
        return
    print(
        f"{options.out}: {', '.join(sorted(files))}; {len(program.operators)} operators, "
        f"{program.constant_bytes} bytes of constants, {program.memory_bytes} bytes of planned memory"
    )
