"""Writes YAML files of kernels (`functions.yaml`): from a program, or from two such files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import yaml  # type: ignore[import-untyped]

from rushlight.compat.codegen.operator_lists import OPTIONAL, REQUIRED, program_from_buffer, read_options
from rushlight.files import write_file
from rushlight.format.program import Operator
from rushlight.select.usage import read_yaml


def _write_entries(path: Path, entries: Sequence[Mapping[str, Any]]) -> None:
    """Writes a YAML list with an empty line between entries."""
    texts = [yaml.safe_dump([entry], sort_keys=False, width=1000) for entry in entries]
    write_file(path, "\n".join(texts))


def get_operators(model_file: str) -> list[Operator]:
    """Returns the operators of the first method of a program (`.pte`)."""
    return program_from_buffer(Path(model_file).read_bytes()).execution_plan[0].operators


def dump_yaml(model_file: str, output_file: str) -> None:
    """Writes an entry with the signature and a kernel name for each ATen operator of a program.

    The names of operators in other namespaces are printed, because PyTorch does not know their kernels.

    Args:
        model_file: a program (`.pte`).
        output_file: the YAML file to write.

    Raises:
        ValueError: the file is not a valid program.
        OSError: a file cannot be read or written.
    """
    entries = []
    for operator in get_operators(model_file):
        if not operator.name.startswith("aten::"):
            print(f"Warning: {operator.name} is not an ATen operator, so that it gets no entry")
            continue
        kernel = f"torch::executor::{operator.name.removeprefix('aten::')}_{operator.overload}"
        for schema in torch._C._jit_get_schemas_for_operator(operator.name):
            if schema.overload_name == operator.overload:
                entries.append({"func": str(schema), "variants": "function", "dispatch": {"CPU": kernel}})
    _write_entries(Path(output_file), entries)


def gen_ops_def_main(args: Sequence[str]) -> None:
    """Runs `dump_yaml` with the arguments of a command line."""
    options = read_options(args, output_path=REQUIRED, model_file_path=REQUIRED)
    dump_yaml(options.model_file_path, options.output_path)


def merge(functions_yaml_path: str, fallback_yaml_path: str | None, output_dir: str) -> None:
    """Writes `merged.yaml`: the entries of a YAML file of kernels, and another file's for other operators.

    Args:
        functions_yaml_path: the file whose entries are all used.
        fallback_yaml_path: the file with entries for other operators. None and a missing file mean none.
        output_dir: the folder of `merged.yaml`.

    Raises:
        ValueError: a file is not valid YAML.
        OSError: a file cannot be read or written.
    """
    paths = [Path(functions_yaml_path)]
    if fallback_yaml_path is not None and Path(fallback_yaml_path).exists():
        paths.append(Path(fallback_yaml_path))
    merged: dict[str, Mapping[str, Any]] = {}
    for path in paths:
        entries = {_operator(entry): entry for entry in read_yaml(path) or ()}
        merged |= {name: entry for name, entry in entries.items() if name not in merged}
    _write_entries(Path(output_dir, "merged.yaml"), list(merged.values()))


def _operator(entry: Mapping[str, Any]) -> str:
    """Returns the operator of an entry, with its namespace."""
    name: str = entry["op"] if "op" in entry else entry["func"].partition("(")[0]
    return name if "::" in name else f"aten::{name}"


def merge_main(argv: Sequence[str]) -> None:
    """Runs `merge` with the arguments of a command line."""
    options = read_options(
        argv, functions_yaml_path=REQUIRED, fallback_yaml_path=OPTIONAL, output_dir=REQUIRED
    )
    merge(**vars(options))
