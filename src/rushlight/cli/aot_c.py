"""`rushlight aot-c`: writes a program as plain C99."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from rushlight.aot_c.code import identifier, is_identifier
from rushlight.aot_c.program import c_program
from rushlight.aot_c.project import check_program, cmake_project
from rushlight.cli.arguments import Commands, count_text
from rushlight.devtools.bundled_program.serialize import deserialize_from_flatbuffer_to_bundled_program
from rushlight.files import write_file
from rushlight.format.errors import FormatError
from rushlight.runtime.errors import InvalidArgumentError
from rushlight.select.usage import is_bundled_program, program_of


def add_to(commands: Commands) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "aot-c",
        help="write a program as plain C99 code without interpreter, parser and heap",
        description="Writes a program as C99 source files, with one function for each method. The code needs "
        "no interpreter, no parser and no heap. The program must not contain parts that a backend runs: "
        "compile the model with `rushlight compile --backend none`.",
        epilog="example: rushlight aot-c model.pte --out model_c && "
        "cc -std=c99 -O2 -c model_c/model.c -o model.o\n"
        "Then call the function model_forward(in, out), which model_c/model.h declares.",
    )
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="a program (.pte), or a bundled program with test cases (.bpte)",
    )
    parser.add_argument(
        "-o", "--out", type=Path, required=True, metavar="FOLDER", help="the folder for the written files"
    )
    parser.add_argument(
        "--name",
        metavar="NAME",
        help="the prefix of the names of functions and files (default: the name of the program file)",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="add a main.c that runs the test cases of a .bpte file and prints the bits of the results, "
        "then OK or FAILED",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> None:
    """Writes the files."""
    if options.out.is_file():
        raise InvalidArgumentError(f"--out {options.out}: this is a file; give the name of a folder")
    name = options.name or identifier(options.file.stem)
    if not is_identifier(name):
        raise InvalidArgumentError(
            f"--name {name}: this is not a valid C identifier; begin with a letter, use letters, digits and "
            "underscores, and avoid keywords of C"
        )
    data = options.file.read_bytes()
    if options.check and not is_bundled_program(data):
        raise InvalidArgumentError(
            f"--check needs test cases, but {options.file} is not a .bpte file; see docs/bundled-programs.md"
        )
    try:
        program = c_program(program_of(data), name, options.file.name)
    except FormatError as error:
        raise FormatError(f"{options.file}: {error}") from error
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
        f"{options.out}: {', '.join(sorted(files))}; {count_text(len(program.operators), 'operator')}, "
        f"{program.constant_bytes} bytes of constants, {program.memory_bytes} bytes of planned memory"
    )
