"""Writes and merges `selected_operators.yaml` files, which list the operators and kernels of a build."""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import reduce
from pathlib import Path
from typing import Any, get_args

import yaml  # type: ignore[import-untyped]
from torchgen.selective_build.selector import (  # type: ignore[import-untyped]
    SelectiveBuilder,
    combine_selective_builders,
    merge_et_kernel_metadata,
)

from rushlight.format.program import (
    EValue,
    KernelCall,
    KernelTypes,
    OptionalTensorList,
    Program,
    Tensor,
    TensorList,
)
from rushlight.format.pte import read_pte
from rushlight.select.kernel_index import DTYPES
from rushlight.select.usage import read_yaml

SELECTED = "selected_operators.yaml"
REQUIRED: Mapping[str, Any] = {"required": True}
REPEATED: Mapping[str, Any] = {"required": True, "action": "append"}
OPTIONAL: Mapping[str, Any] = {}
FLAG: Mapping[str, Any] = {"action": "store_true"}

ScalarType = IntEnum("ScalarType", {n: d.value for n, d in DTYPES.items()})  # type: ignore[misc]
"""The dtypes in kernel keys, with the names and numbers of c10::ScalarType."""


@dataclass(frozen=True)
class IOMetaData:
    """An argument of an operator call.

    Attributes:
        kernel_type: the number of its type in the schema's union `KernelTypes`.
        dtype: the dtype of the tensor; -1 if the argument is no tensor. A list means its first tensor.
        dim_order: the dim order of the tensor.
    """

    kernel_type: int
    dtype: int = -1
    dim_order: list[int] = field(default_factory=list, hash=False)


def program_from_buffer(buffer: bytes) -> Program:
    """Reads the bytes of a program (`.pte`)."""
    return read_pte(buffer).program


def program_operators(program: Program) -> list[str]:
    """Returns the names of the operators of each method, such as `aten::add.out`."""
    return [operator.full_name for plan in program.execution_plan for operator in plan.operators]


def io_metadata(program: Program) -> dict[str, set[tuple[IOMetaData, ...]]]:
    """Returns the arguments of the calls of each operator, without duplicates."""
    found: dict[str, set[tuple[IOMetaData, ...]]] = defaultdict(set)
    for plan in program.execution_plan:
        for instruction in (i for chain in plan.chains for i in chain.instructions):
            call = instruction.instr_args
            if isinstance(call, KernelCall):
                arguments = tuple(_metadata(plan.values, index) for index in call.args)
                found[plan.operators[call.op_index].full_name].add(arguments)
    return dict(found)


def _metadata(values: Sequence[EValue], index: int) -> IOMetaData:
    numbers = {kind: number for number, kind in enumerate(get_args(KernelTypes), 1)}
    tensor = next(_tensors(values, index), None)
    if tensor is None:
        return IOMetaData(numbers[type(values[index].val)])
    return IOMetaData(numbers[Tensor], int(tensor.scalar_type), list(tensor.dim_order))


def _tensors(values: Sequence[EValue], index: int) -> Iterator[Tensor]:
    value = values[index].val if index >= 0 else None
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (TensorList, OptionalTensorList)):
        for item in value.items:
            yield from _tensors(values, item)


def get_operators(model_file: str) -> list[str]:
    """Returns the names of the operators of a program (`.pte`)."""
    return program_operators(program_from_buffer(Path(model_file).read_bytes()))


def get_kernel_metadata_for_model(model_file: str) -> dict[str, list[str]]:
    """Returns the kernel keys of the operators that a program (`.pte`) calls."""
    calls = io_metadata(program_from_buffer(Path(model_file).read_bytes()))
    return {name: sorted(set(map(_key, arguments))) for name, arguments in calls.items()}


def _key(arguments: Sequence[IOMetaData]) -> str:
    tensors = [f"{a.dtype};{','.join(map(str, a.dim_order))}" for a in arguments if a.dtype >= 0]
    return f"v1/{'|'.join(tensors)}"


def get_et_kernel_metadata_from_ops_yaml(ops_yaml_path: str) -> dict[str, list[str]]:
    """Returns the kernel key `default` for each operator of a YAML file of kernels."""
    names = [
        entry.get("op") or entry["func"].partition("(")[0] for entry in read_yaml(Path(ops_yaml_path)) or ()
    ]
    return {name if "::" in name else f"aten::{name}": ["default"] for name in names}


def create_kernel_key(maybe_kernel_key: str) -> str:
    """Returns a kernel key unchanged, and the key `v1/6;` for the name of a dtype such as `Float`.

    Raises:
        ValueError: the text is neither a key nor a dtype.
    """
    if maybe_kernel_key.lstrip().startswith("v1"):
        return maybe_kernel_key
    if maybe_kernel_key not in ScalarType.__members__:
        raise ValueError(f"{maybe_kernel_key!r} is neither a kernel key nor a dtype such as Float")
    return f"v1/{ScalarType[maybe_kernel_key].value};"


def dump_yaml(
    op_list: Sequence[str],
    output_path: Path,
    model_name: str | None = None,
    et_kernel_metadata: Mapping[str, Sequence[str]] | None = None,
    include_all_operators: bool = False,
) -> None:
    """Writes a list of operators. `model_name` is the file that they come from."""
    operator = {"is_root_operator": True, "is_used_for_training": True, "include_all_overloads": False}
    origins = [model_name] if model_name else []
    content = {
        # A copy for each operator, because YAML writes a shared list as an anchor.
        "operators": {name: {**operator, "debug_info": [*origins]} for name in op_list},
        "custom_classes": [],
        "build_features": [],
        "include_all_non_op_selectives": False,
        "include_all_operators": include_all_operators,
        "kernel_metadata": {},
        "et_kernel_metadata": et_kernel_metadata or {},
    }
    output_path.write_text(yaml.safe_dump(content), encoding="utf-8")


def gen_oplist(
    output_path: Path,
    model_file_path: str | None = None,
    ops_schema_yaml_path: str | None = None,
    root_ops: str | None = None,
    ops_dict: str | None = None,
    include_all_operators: bool = False,
) -> None:
    """Writes a list of the operators from all given sources.

    Args:
        output_path: the file to write.
        model_file_path: a program (`.pte`).
        ops_schema_yaml_path: a YAML file of kernels.
        root_ops: names of operators, separated by commas or spaces.
        ops_dict: a JSON object: a list of dtypes or kernel keys for each operator. An empty list means all.
        include_all_operators: whether the build has all operators.

    Raises:
        ValueError: a source is not valid.
        OSError: a file cannot be read or written.
    """
    parts: list[Mapping[str, list[str]]] = []
    names: set[str] = set()
    if root_ops:
        words = map(str.strip, root_ops.split("," if "," in root_ops else " "))
        parts.append({word: ["default"] for word in words if word})
    for name, keys in json.loads(ops_dict or "{}").items():
        parts.append({name: list(map(create_kernel_key, keys)) or ["default"]})
    if model_file_path:
        names.update(get_operators(model_file_path))
        parts.append(get_kernel_metadata_for_model(model_file_path))
    if ops_schema_yaml_path:
        parts.append(get_et_kernel_metadata_from_ops_yaml(ops_schema_yaml_path))
    metadata: dict[str, list[str]] = reduce(merge_et_kernel_metadata, parts, {})
    source = ops_schema_yaml_path or model_file_path
    dump_yaml(sorted(names.union(metadata)), output_path, source, metadata, include_all_operators)


def add_options(parser: argparse.ArgumentParser, **options: Mapping[str, Any]) -> None:
    """Adds options that may be spelled with dashes or underscores, given the settings of each option."""
    for name, settings in options.items():
        parser.add_argument(f"--{name}", f"--{name.replace('_', '-')}", dest=name, **settings)


def read_options(arguments: Sequence[str], **options: Mapping[str, Any]) -> argparse.Namespace:
    """Reads options that may be spelled with dashes or underscores, given the settings of each option."""
    parser = argparse.ArgumentParser()
    add_options(parser, **options)
    return parser.parse_args(arguments)


def gen_oplist_main(args: Sequence[str]) -> None:
    """Runs `gen_oplist` with the arguments of a command line. `--output_path` may be a folder.

    Raises:
        RuntimeError: the list was not written.
    """
    options = read_options(
        args,
        output_path=REQUIRED,
        model_file_path=OPTIONAL,
        ops_schema_yaml_path=OPTIONAL,
        root_ops=OPTIONAL,
        ops_dict=OPTIONAL,
        include_all_operators=FLAG,
    )
    options.output_path = _file(options.output_path)
    try:
        gen_oplist(**vars(options))
    except Exception as error:
        raise RuntimeError(f"{options.output_path} was not written: {error}") from error


def _file(path: str) -> Path:
    return Path(path, SELECTED) if Path(path).is_dir() else Path(path)


def gen_all_oplist_main(argv: Sequence[str]) -> None:
    """Merges lists of operators, with the arguments of a command line.

    `--model_file_list_path` is a list, or `@` with a file that contains paths of lists or of their folders.

    Raises:
        ValueError: several lists have an operator, or an entry has all overloads, which options forbid.
    """
    options = read_options(
        argv,
        output_dir=REQUIRED,
        model_file_list_path=REQUIRED,
        allow_include_all_overloads=FLAG,
        check_ops_not_overlapping=FLAG,
    )
    listed: str = options.model_file_list_path
    many = listed.startswith("@")
    paths = Path(listed[1:]).read_text(encoding="utf-8").split() if many else [listed]
    origins: dict[str, str] = {}
    merged = SelectiveBuilder.from_yaml_dict({})
    for path in map(_file, paths):
        content = read_yaml(path) or {}
        for name, entry in (content.get("operators") or {}).items():
            if many:
                entry["debug_info"] = [str(path.resolve())]
            if options.check_ops_not_overlapping and name in origins:
                raise ValueError(f"Operator {name} is used in 2 models: {origins[name]} and {path}")
            origins[name] = str(path)
        merged = combine_selective_builders(merged, SelectiveBuilder.from_yaml_dict(content))
    if not options.allow_include_all_overloads:
        throw_if_any_op_includes_overloads(merged)
    text = yaml.safe_dump(merged.to_dict())
    Path(options.output_dir, SELECTED).write_text(text, encoding="utf-8")


def throw_if_any_op_includes_overloads(selective_builder: SelectiveBuilder) -> None:
    """Raises ValueError if an entry selects all overloads of an operator."""
    names = [name for name, entry in selective_builder.operators.items() if entry.include_all_overloads]
    if names:
        raise ValueError(f"these entries need --allow_include_all_overloads: {', '.join(names)}")
