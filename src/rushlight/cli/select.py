"""`rushlight select`: writes a build with only the kernels that programs use."""

from __future__ import annotations

import argparse
import json
import re
from functools import reduce
from operator import or_
from pathlib import Path

from rushlight.cli.arguments import Commands
from rushlight.runtime.errors import InvalidArgumentError
from rushlight.runtime.libraries import runtime_sources
from rushlight.select.own import read_own_sources
from rushlight.select.project import project_files, select, write_project
from rushlight.select.sources import GENERIC, KINDS, RuntimeSources
from rushlight.select.usage import read_usage


def add_to(commands: Commands) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "select",
        help="write a CMake project with only the kernels and dtypes that programs use",
        epilog="example: rushlight select model.pte --out model && cmake -S model -B model/build && "
        "cmake --build model/build",
    )
    parser.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="programs (.pte), programs with test cases (.bpte), lists with an operator and its dtypes in "
        "each line, such as `aten::add.out float32`, or selected_operators.yaml of ExecuTorch",
    )
    parser.add_argument(
        "-o", "--out", type=Path, required=True, metavar="FOLDER", help="the folder of the project"
    )
    parser.add_argument(
        "--portable",
        action="store_true",
        help="leave out optimized kernels: smaller, and the same results anywhere",
    )
    parser.add_argument(
        "--embed",
        action="store_true",
        help="add a program `runner` that has the programs inside, needs no files and runs their test cases",
    )
    parser.add_argument(
        "--isa",
        nargs="+",
        metavar="NAME",
        help="instruction sets beside the generic code: avx2, avx512, neon, rvv (default: those of the plans "
        "of CpuBackend)",
    )
    parser.add_argument(
        "--own",
        nargs="+",
        default=[],
        metavar="OPERATOR",
        help="operators that your application has its own kernels for",
    )
    parser.add_argument(
        "--own-sources",
        nargs="+",
        type=Path,
        default=[],
        metavar="FILE",
        help="C++ sources of your own kernels, which join the build; each table of kernels is a "
        "RUSHLIGHT_KERNEL_LIBRARY, and its kernels come before those of the runtime",
    )
    parser.add_argument(
        "--runtime", type=Path, metavar="FOLDER", help="the folder `runtime` of Rushlight's sources"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> None:
    """Writes the project."""
    if options.out.is_file():
        raise InvalidArgumentError(f"--out {options.out}: this is a file; give the name of a folder")
    sources = RuntimeSources(options.runtime or runtime_sources(options.out))
    own = read_own_sources(options.own_sources)
    usage = reduce(or_, [read_usage(path) for path in options.files])
    programs = {}
    if options.embed:
        programs = {
            path.stem: path.read_bytes() for path in options.files if path.suffix in (".pte", ".bpte")
        }
    selection = select(
        usage,
        sources,
        kinds=[kind for kind in KINDS if not (options.portable and kind == "optimized")],
        isas=options.isa,
        own_operators=options.own,
        programs=programs,
        own_sources=own,
    )
    name = re.sub(r"\W", "_", options.files[0].stem)
    write_project(options.out, project_files(selection, sources, name, options.out))
    operators = sorted({row.name for row in selection.rows} | own.operators)
    isas = [GENERIC, *sorted(selection.families)]
    if options.json:
        facts = {"folder": str(options.out), "operators": operators, "steps": sorted(usage.steps)}
        print(json.dumps({**facts, "instruction_sets": isas}, indent=2))
        return
    print(f"{options.out}: {len(operators)} operators, {len(usage.steps)} steps of CPU plans, ", end="")
    print(f"instruction sets: {', '.join(isas)}")
