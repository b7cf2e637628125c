"""Writes C++ headers that tell kernels and the operator registry which operators were selected."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rushlight.compat.codegen.operator_lists import OPTIONAL, REPEATED, REQUIRED, ScalarType, read_options
from rushlight.select.kernels_yaml import write_if_changed
from rushlight.select.usage import dtypes_of_keys, read_yaml

_DTYPES_OF_KERNELS = """#pragma once

#include <string_view>

// Returns whether a selected kernel of the operator computes this dtype.
inline constexpr bool should_include_kernel_dtype(const char* operator_name,
                                                  executorch::aten::ScalarType scalar_type) {
  [[maybe_unused]] const std::string_view name(operator_name);
  return %s;
}
"""


def write_selected_op_variants(yaml_file_path: str, output_dir: str) -> None:
    """Writes `selected_op_variants.h`: the function that returns whether an operator needs a dtype."""
    keys: Mapping[str, Sequence[str]] = read_yaml(Path(yaml_file_path)).get("et_kernel_metadata", {})
    rows = [
        f'(name == "{name.removeprefix("aten::")}" && ({_is_selected(listed)}))'
        for name, listed in keys.items()
    ]
    text = _DTYPES_OF_KERNELS % (" ||\n         ".join(rows) or "true")
    Path(output_dir, "selected_op_variants.h").write_text(text, encoding="utf-8")


def _is_selected(keys: Sequence[str]) -> str:
    """Returns a C++ condition: the dtype is one of those in the kernel keys."""
    names = sorted(ScalarType(dtype).name for dtype in dtypes_of_keys(keys) or ())
    return " || ".join(f"scalar_type == executorch::aten::ScalarType::{name}" for name in names) or "true"


def write_selected_op_variants_main(argv: Sequence[str]) -> None:
    """Runs `write_selected_op_variants` with the arguments of a command line."""
    options = read_options(argv, yaml_file_path=REQUIRED, output_dir=REQUIRED)
    write_selected_op_variants(**vars(options))


def normalize_op_name(op_name: str) -> str:
    """Returns the macro of an operator: `INCLUDE_ATEN_SYM_SIZE_INT` for `aten::sym_size.int`."""
    return re.sub(r"[:._]+", "_", f"INCLUDE_{op_name}").upper()


def write_selected_prim_ops(prim_op_names: Iterable[str], output_dir: str) -> None:
    """Writes `selected_prim_ops.h`, which defines the macros of operators."""
    macros = "\n".join(f"#define {normalize_op_name(name)}" for name in prim_op_names)
    Path(output_dir, "selected_prim_ops.h").write_text(f"#pragma once\n\n{macros}\n", encoding="utf-8")


def read_prim_op_names_from_yaml(op_selection_yaml_path: str) -> list[str]:
    """Returns the operators of a list (`selected_operators.yaml`), sorted."""
    content = read_yaml(Path(op_selection_yaml_path)) or {}
    return sorted({*(content.get("operators") or ()), *(content.get("et_kernel_metadata") or ())})


def write_selected_prim_ops_main(argv: Sequence[str]) -> None:
    """Runs `write_selected_prim_ops` with the arguments of a command line."""
    options = read_options(argv, prim_op_names=OPTIONAL, op_selection_yaml_path=OPTIONAL, output_dir=REQUIRED)
    names = {name.strip() for name in (options.prim_op_names or "").split(",") if name.strip()}
    if options.op_selection_yaml_path:
        names.update(read_prim_op_names_from_yaml(options.op_selection_yaml_path))
    write_selected_prim_ops(sorted(names), options.output_dir)


def read_header_file(file_path: Path) -> set[str]:
    """Returns the lines of a header that define macros of operators: `#define INCLUDE_ATEN_SYM_SIZE_INT`."""
    lines = map(str.strip, file_path.read_text(encoding="utf-8").splitlines())
    return {line for line in lines if line.startswith("#define INCLUDE_")}


def combine_prim_ops_headers(header_file_paths: Iterable[str], output_path: str) -> None:
    """Writes a header with the macros of several `selected_prim_ops.h`.

    If there are no macros, the header selects all operators.

    Args:
        header_file_paths: folders. Those without a file `selected_prim_ops.h` are printed.
        output_path: the header to write.

    Raises:
        OSError: a file cannot be read or written.
    """
    macros: set[str] = set()
    for folder in header_file_paths:
        header = Path(folder, "selected_prim_ops.h")
        if header.exists():
            macros |= read_header_file(header)
        else:
            print(f"Warning: {header} does not exist", file=sys.stderr)
    selects = ["#define EXECUTORCH_ENABLE_PRIM_OPS_SELECTIVE_BUILD"] if macros else []
    text = "\n".join(["#pragma once", "", *selects, *sorted(macros)])
    write_if_changed(Path(output_path), text.rstrip("\n") + "\n")


def combine_prim_ops_headers_main(argv: Sequence[str]) -> None:
    """Runs `combine_prim_ops_headers` with the arguments of a command line.

    `--header_files` is `@` with a file that contains the folders.

    Raises:
        SystemExit: the file contains no folder, or the argument has no `@`.
    """
    options = read_options(argv, header_files=REQUIRED, output_dir=REQUIRED)
    listed: str = options.header_files
    if not listed.startswith("@"):
        raise SystemExit(f"--header_files is {listed!r}, and not @ with a file that contains folders")
    folders = Path(listed[1:]).read_text(encoding="utf-8").split()
    if not folders:
        raise SystemExit(f"{listed[1:]} contains no folders")
    combine_prim_ops_headers(folders, str(Path(options.output_dir, "selected_prim_ops.h")))


def count_prim_ops(prim_ops_source: Path) -> int:
    """Returns the number of kernels in the C++ array `prim_ops` of a source file.

    Raises:
        RuntimeError: the file has no such array, or the array is empty.
    """
    source = prim_ops_source.read_text(encoding="utf-8")
    array = re.search(r"\bprim_ops\s*\[\]\s*=\s*\{(.*?)^\};", source, re.DOTALL | re.MULTILINE)
    count = len(re.findall(r"\bKernel\s*\(", array[1])) if array else 0
    if not count:
        raise RuntimeError(f"{prim_ops_source} has no array `prim_ops` with kernels")
    return count


def count_yaml_kernels(yaml_path: Path) -> int | None:
    """Returns the number of kernels in a list of operators; None if it selects all operators or overloads."""
    content: dict[str, Any] = read_yaml(yaml_path) or {}
    operators: dict[str, Any] = content.get("operators") or {}
    if content.get("include_all_operators") or any(
        (entry or {}).get("include_all_overloads") for entry in operators.values()
    ):
        return None
    kernels = dict.fromkeys(operators, ["default"]) | (content.get("et_kernel_metadata") or {})
    return sum(len(keys or ["default"]) for keys in kernels.values())


def gen_max_kernel_num(oplist_yamls: Iterable[Path], prim_ops_source: Path, output_path: Path) -> int | None:
    """Writes a header with the number of kernels in lists of operators and in the array of `count_prim_ops`.

    Returns:
        The number; None if a list selects all operators. The header then defines nothing.
    """
    counts = [count_yaml_kernels(path) for path in oplist_yamls]
    total = None
    text = "// A list has opted into all operators, so that the registry keeps its size.\n"
    if None not in counts:
        total = sum(filter(None, counts)) + count_prim_ops(prim_ops_source)
        text = f"#pragma once\n\n#define EXECUTORCH_SELECTED_MAX_KERNEL_NUM {total}\n"
    write_if_changed(output_path, text)
    return total


def gen_max_kernel_num_main(argv: Sequence[str]) -> None:
    """Runs `gen_max_kernel_num` with the arguments of a command line."""
    options = read_options(argv, oplist_yaml=REPEATED, prim_ops_source=REQUIRED, output_path=REQUIRED)
    lists = map(Path, options.oplist_yaml)
    gen_max_kernel_num(lists, Path(options.prim_ops_source), Path(options.output_path))
