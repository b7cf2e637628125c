"""`rushlight select`: writes a CMake project of a runtime with only the kernels that programs use."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from functools import reduce
from operator import or_
from pathlib import Path

from rushlight.cli.arguments import Commands, count_text
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
        description="Writes a CMake project of a runtime that contains only the kernels and dtypes that the "
        "given programs use. The binary is then smaller than that of the whole runtime.",
        epilog="example: rushlight select model.pte --out model && cmake -S model -B model/build && "
        "cmake --build model/build",
    )
    parser.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="programs (.pte), bundled programs (.bpte), text files with an operator and its dtypes in "
        "each line, such as `aten::add.out float32`, or a selected_operators.yaml of ExecuTorch",
    )
    parser.add_argument(
        "-o", "--out", type=Path, required=True, metavar="FOLDER", help="the folder of the project"
    )
    parser.add_argument(
        "--portable",
        action="store_true",
        help="leave out the optimized kernels; the binary is then smaller, and gives the same results on "
        "every machine",
    )
    parser.add_argument(
        "--embed",
        action="store_true",
        help="add an executable `runner`, which contains the given programs and runs their test cases "
        "without files",
    )
    parser.add_argument(
        "--isa",
        nargs="+",
        metavar="NAME",
        help="the instruction sets in addition to generic code: avx2, avx512, neon, rvv (default: those "
        "for which the plans of CpuBackend were compiled)",
    )
    parser.add_argument(
        "--own",
        nargs="+",
        default=[],
        metavar="OPERATOR",
        help="the operators for which your application registers its own kernels",
    )
    parser.add_argument(
        "--own-sources",
        nargs="+",
        type=Path,
        default=[],
        metavar="FILE",
        help="C++ sources with your own kernels, which the project compiles too. Each table of kernels is a "
        "RUSHLIGHT_KERNEL_LIBRARY; these kernels replace kernels of the runtime for the same operators",
    )
    parser.add_argument(
        "--runtime",
        type=Path,
        metavar="FOLDER",
        help="the folder `runtime` of Rushlight's sources (default: the sources in the installed package)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=run)


def _programs(files: Sequence[Path]) -> dict[str, bytes]:
    """Returns the bytes of the programs among files, by the name that the runner prints."""
    programs: dict[str, bytes] = {}
    for path in files:
        if path.suffix in (".pte", ".bpte"):
            data = path.read_bytes()
            if programs.setdefault(path.stem, data) != data:
                raise InvalidArgumentError(
                    f"--embed {path}: another program is also named {path.stem}; rename one of them"
                )
    return programs


def run(options: argparse.Namespace) -> None:
    """Writes the project."""
    if options.out.is_file():
        raise InvalidArgumentError(f"--out {options.out}: this is a file; give the name of a folder")
    sources = RuntimeSources(options.runtime or runtime_sources(options.out))
    own = read_own_sources(options.own_sources)
    usage = reduce(or_, [read_usage(path) for path in options.files])
    programs = _programs(options.files) if options.embed else {}
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
    print(f"{options.out}: {count_text(len(operators), 'operator')}, ", end="")
    print(f"{count_text(len(usage.steps), 'kind')} of CPU plan steps, ", end="")
    print(f"instruction sets: {', '.join(isas)}")
