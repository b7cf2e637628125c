"""Generates kernel tables from ExecuTorch's YAML files (`functions.yaml`, `custom_ops.yaml`).

The CMake functions `gen_selected_ops`, `generate_bindings_for_kernels`, `gen_operators_lib` and
`gen_custom_ops_aot_lib` call `python -m rushlight.select.kernels_yaml`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import reduce
from operator import or_
from pathlib import Path

from rushlight.files import write_file
from rushlight.select.kernel_index import read_kernels, selected_names
from rushlight.select.kernel_sources import (
    MANUAL_HEADER,
    declarations,
    registration,
    torch_library,
    without_default_kernel,
)
from rushlight.select.usage import Usage, read_usage


def selected_yaml(usage: Usage) -> str:
    """Returns the text of `selected_operators.yaml`, which `rushlight select` can read."""
    everything = "true" if usage.every_operator else "false"
    if not usage.operators:
        return f"include_all_operators: {everything}\noperators: {{}}\n"
    lines = [f"include_all_operators: {everything}", "operators:"]
    lines += [f'  "{name}": {{}}' for name in sorted(usage.operators)]
    return "\n".join(lines) + "\n"


def write_if_changed(path: Path, text: str) -> None:
    """Writes a file if its content changes. An unchanged file keeps its time, so that nothing is rebuilt."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        write_file(path, text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command.

    Args:
        arguments: the arguments; None means those of the process.

    Returns:
        1 if there was an error, which is printed; else 0.
    """
    parser = argparse.ArgumentParser(prog="python -m rushlight.select.kernels_yaml", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    chosen = commands.add_parser("select", help="write selected_operators.yaml")
    chosen.add_argument("--ops-schema-yaml", type=Path)
    chosen.add_argument("--root-ops", default="", help="names of operators, separated by commas")
    chosen.add_argument("--ops-from-model", type=Path, nargs="*", default=[])
    chosen.add_argument("--include-all-ops", action="store_true")
    chosen.add_argument("--out", type=Path, required=True)
    for name in ("bind", "torch"):
        made = commands.add_parser(name, help="write the sources of a library")
        made.add_argument("--functions-yaml", type=Path)
        made.add_argument("--custom-ops-yaml", type=Path)
        made.add_argument("--selected", type=Path, help="selected_operators.yaml")
        made.add_argument("--tables", nargs="*", default=[], choices=("optimized", "quantized", "portable"))
        made.add_argument("--library", required=True)
        made.add_argument("--manual-registration", action="store_true")
        made.add_argument("--out", type=Path, required=True, help="a folder")
    options = parser.parse_args(arguments)
    try:
        if options.command == "select":
            _select(options)
        else:
            _bind(options)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _select(options: argparse.Namespace) -> None:
    usage = Usage(every_operator=options.include_all_ops)
    names = [name.strip() for name in options.root_ops.replace(";", ",").split(",") if name.strip()]
    usage |= Usage({name if "::" in name else f"aten::{name}": None for name in names})
    usage = reduce(or_, [usage, *map(read_usage, options.ops_from_model)])
    if options.ops_schema_yaml:
        listed = read_kernels(None, options.ops_schema_yaml).kernels
        usage |= Usage(dict.fromkeys(listed))
    write_if_changed(options.out, selected_yaml(usage))


def _bind(options: argparse.Namespace) -> None:
    index = read_kernels(options.functions_yaml, options.custom_ops_yaml)
    usage = read_usage(options.selected) if options.selected else Usage(every_operator=True)
    names = selected_names(index, usage)
    if not names:
        raise ValueError(f"library {options.library} has no operators")
    write_if_changed(options.out / "NativeFunctions.h", declarations(index, names))
    if options.command == "torch":
        omitted = without_default_kernel(index, names)
        if omitted:
            print(f"left out, without a kernel for all dtypes: {', '.join(omitted)}", file=sys.stderr)
        write_if_changed(options.out / "register_torch.cpp", torch_library(index, names))
    else:
        manual = options.manual_registration
        if manual:
            write_if_changed(options.out / "RegisterKernels.h", MANUAL_HEADER)
        write_if_changed(
            options.out / "register_kernels.cpp",
            registration(index, names, options.tables, options.library, manual),
        )


if __name__ == "__main__":
    sys.exit(main())
