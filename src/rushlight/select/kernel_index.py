"""Reads the kernels that ExecuTorch's YAML files list (`functions.yaml`, `custom_ops.yaml`)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rushlight.format.program import ScalarType
from rushlight.select.signatures import Schema, parse_schema
from rushlight.select.usage import Usage, read_yaml

RUNTIME_NAMESPACE = "torch::executor"  # The runtime provides the kernels in this namespace.
DTYPES = {
    "Byte": ScalarType.BYTE,
    "Char": ScalarType.CHAR,
    "Short": ScalarType.SHORT,
    "Int": ScalarType.INT,
    "Long": ScalarType.LONG,
    "Half": ScalarType.HALF,
    "Float": ScalarType.FLOAT,
    "Double": ScalarType.DOUBLE,
    "Bool": ScalarType.BOOL,
    "BFloat16": ScalarType.BFLOAT16,
}

_KEYS = {
    "op",
    "func",
    "kernels",
    "dispatch",
    "type_alias",
    "dim_order_alias",
    "variants",
    "namespace",
    "tags",
}


@dataclass(frozen=True)
class KernelEntry:
    """A kernel of an operator.

    Attributes:
        function: the C++ function with its namespaces, or None for the runtime's own kernel.
        key: the supported dtypes and dim orders, such as `v1/6;0,1|6;0,1`; None for all.
    """

    function: str | None
    key: str | None = None


@dataclass
class KernelIndex:
    """The kernels of YAML files.

    Attributes:
        kernels: the kernels by operator.
        schemas: the signatures by operator; signatures of ATen operators are looked up when they are needed.
    """

    kernels: dict[str, list[KernelEntry]] = field(default_factory=dict)
    schemas: dict[str, Schema] = field(default_factory=dict)


def read_kernels(functions: Path | None, custom: Path | None) -> KernelIndex:
    """Reads the kernels that YAML files list.

    Args:
        functions: a file with kernels of ATen operators: entries `op: add.out` with `kernels`.
        custom: a file with custom operators and their kernels: entries `func: <signature>` with `kernels`.

    Raises:
        ValueError: a file has a wrong format; the message names the file and the entry.
        OSError: a file cannot be read.
    """
    index = KernelIndex()
    for path in (functions, custom):
        for entry in _entries(path) if path else []:
            try:
                _add_entry(index, entry)
            except ValueError as error:
                raise ValueError(f"{path}: {error}") from error
    return index


def _entries(path: Path) -> list[dict[str, Any]]:
    content = read_yaml(path)
    if content is None:
        return []
    if not isinstance(content, list) or not all(isinstance(entry, dict) for entry in content):
        raise ValueError(f"{path} is not a list of operators")
    return content


def _add_entry(index: KernelIndex, entry: Mapping[str, Any]) -> None:
    unknown = sorted(str(key) for key in set(entry) - _KEYS)
    if unknown:
        raise ValueError(
            f"an entry has the unknown key {unknown[0]!r}; the valid keys are {', '.join(sorted(_KEYS))}"
        )
    if ("op" in entry) == ("func" in entry):
        raise ValueError("an entry needs either `op: <name>` or `func: <signature>`")
    if "func" in entry:
        schema = parse_schema(str(entry["func"]))
        name = schema.name
        index.schemas[name] = schema
    else:
        name = str(entry["op"])
        name = name if "::" in name else f"aten::{name}"
    kernels = _kernels(entry, name)
    entries = index.kernels.setdefault(name, [])
    for kernel in kernels:
        if not isinstance(kernel, dict):
            raise ValueError(
                f"{name}: {kernel!r} in `kernels` is not a mapping with `arg_meta` and `kernel_name`"
            )
        function = _cpp_function(str(kernel.get("kernel_name", "")), name)
        for key in _keys(kernel.get("arg_meta"), entry, name):
            if any(other.key == key for other in entries):
                raise ValueError(f"{name} has two kernels for {key or 'all dtypes and dim orders'}")
            entries.append(KernelEntry(function, key))


def _kernels(entry: Mapping[str, Any], operator: str) -> list[Any]:
    """Returns the list `kernels`, or the kernel that PyTorch's `dispatch: {CPU: ...}` names."""
    kernels, dispatch = entry.get("kernels"), entry.get("dispatch")
    if kernels is None and isinstance(dispatch, dict):
        kernels = [
            {"kernel_name": function} for keys, function in dispatch.items() if "CPU" in str(keys).split(", ")
        ]
    if not isinstance(kernels, list) or not kernels:
        raise ValueError(f"{operator} has no list `kernels` and no `dispatch` with a function for CPU")
    return kernels


def _cpp_function(kernel_name: str, operator: str) -> str | None:
    if not re.fullmatch(r"\w+(::\w+)*", kernel_name):
        raise ValueError(f"{operator}: `kernel_name` is {kernel_name!r}, and not the name of a C++ function")
    namespace, _, function = kernel_name.rpartition("::")
    # As in ExecuTorch, the functions are defined in the nested namespace `native`.
    if namespace in ("", RUNTIME_NAMESPACE):
        return None
    return f"{namespace}::native::{function}"


def _keys(arg_meta: Any, entry: Mapping[str, Any], operator: str) -> list[str | None]:
    """Returns the keys of a kernel: one for each combination of dtypes that its aliases allow."""
    if arg_meta is None:
        return [None]
    types, orders = entry.get("type_alias") or {}, entry.get("dim_order_alias") or {}
    if not isinstance(arg_meta, dict):
        raise ValueError(
            f"{operator}: `arg_meta` is not a mapping from parameters to [type alias, dim order alias]"
        )
    for key, aliases in (("type_alias", types), ("dim_order_alias", orders)):
        if not isinstance(aliases, dict) or not all(isinstance(value, list) for value in aliases.values()):
            raise ValueError(f"{operator}: `{key}` is not a mapping from aliases to lists")
    metas: list[tuple[str, list[int]]] = []
    for parameter, meta in arg_meta.items():
        if not isinstance(meta, list) or len(meta) != 2:
            raise ValueError(f"{operator}: `arg_meta` of {parameter} is not [type alias, dim order alias]")
        alias, order = str(meta[0]), str(meta[1])
        if alias not in types:
            raise ValueError(f"{operator}: {alias} is not in `type_alias`")
        if order not in orders:
            raise ValueError(f"{operator}: {order} is not in `dim_order_alias`")
        axes = orders[order]
        if not all(type(axis) is int for axis in axes):
            raise ValueError(f"{operator}: the dim order {order} is {axes}, and not a list of dimensions")
        metas.append((alias, axes))
    used = list(dict.fromkeys(alias for alias, _ in metas))
    keys: list[str | None] = []
    for choice in itertools.product(*([_dtype(name, operator) for name in types[alias]] for alias in used)):
        chosen = dict(zip(used, choice, strict=True))
        parts = [f"{chosen[alias].value};{','.join(map(str, order))}" for alias, order in metas]
        keys.append("v1/" + "|".join(parts))
    return keys


def _dtype(name: Any, operator: str) -> ScalarType:
    if str(name) not in DTYPES:
        raise ValueError(f"{operator}: {name} is not a dtype; the dtypes are {', '.join(DTYPES)}")
    return DTYPES[str(name)]


def schema_of(index: KernelIndex, operator: str) -> Schema:
    """Returns the signature of an operator from the YAML files, or else from PyTorch.

    Raises:
        ValueError: PyTorch does not have the operator, or is not installed.
    """
    if operator in index.schemas:
        return index.schemas[operator]
    try:
        import torch
    except ImportError as error:
        raise ValueError(
            f"the signature of {operator} must be read from PyTorch, which is not installed: "
            "pip install 'rushlight[compile]'"
        ) from error
    name, _, overload = operator.partition(".")
    for found in torch._C._jit_get_schemas_for_operator(name):
        if found.overload_name == overload:
            return parse_schema(str(found))
    raise ValueError(f"PyTorch has no operator {operator}; add its signature with `func: <signature>`")


def selected_names(index: KernelIndex, usage: Usage) -> list[str]:
    """Returns the operators that a library registers, sorted.

    These are the operators in `usage`, or all operators in `index` if `usage` selects none or all.
    """
    if usage.every_operator or not usage.operators:
        return sorted(index.kernels)
    return sorted(usage.operators)
