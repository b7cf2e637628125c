"""Generates kernel tables from ExecuTorch's YAML files (`functions.yaml`, `custom_ops.yaml`).

The CMake functions `gen_selected_ops`, `generate_bindings_for_kernels`, `gen_operators_lib` and
`gen_custom_ops_aot_lib` call `python -m rushlight.select.kernels_yaml`.
"""

from __future__ import annotations

import argparse
import itertools
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

from rushlight.files import write_file
from rushlight.format.program import ScalarType
from rushlight.select.usage import Usage, read_usage, read_yaml

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
# The C++ types of parameters, and the C++ types of the same parameters if None is allowed.
_TYPES = {
    "Tensor": ("const Tensor&", "const optional<Tensor>&"),
    "Scalar": ("const Scalar&", "const optional<Scalar>&"),
    "int": ("int64_t", "optional<int64_t>"),
    "SymInt": ("int64_t", "optional<int64_t>"),
    "float": ("double", "optional<double>"),
    "bool": ("bool", "optional<bool>"),
    "str": ("string_view", "optional<string_view>"),
    "ScalarType": ("ScalarType", "optional<ScalarType>"),
    "MemoryFormat": ("MemoryFormat", "optional<MemoryFormat>"),
    "Layout": ("Layout", "optional<Layout>"),
    "Device": ("Device", "optional<Device>"),
}
_LISTS = {
    "Tensor": "TensorList",
    "Tensor?": "ArrayRef<optional<Tensor>>",
    "int": "ArrayRef<int64_t>",
    "SymInt": "ArrayRef<int64_t>",
    "float": "ArrayRef<double>",
    "bool": "ArrayRef<bool>",
}


@dataclass(frozen=True)
class Argument:
    """A parameter of an operator.

    Attributes:
        name: the name of the parameter.
        cpp_type: the type of the kernel's parameter.
        is_out: whether the kernel writes the parameter.
        is_tensor: whether the parameter is a single tensor that cannot be None.
    """

    name: str
    cpp_type: str
    is_out: bool
    is_tensor: bool


@dataclass(frozen=True)
class Schema:
    """The signature of an operator.

    Attributes:
        text: the whole signature: `my_ops::mul3.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)`.
        name: the operator with its overload: `my_ops::mul3.out`.
        arguments: the parameters of the operator.
    """

    text: str
    name: str
    arguments: tuple[Argument, ...]

    @property
    def outs(self) -> list[Argument]:
        """The parameters that the kernel writes."""
        return [argument for argument in self.arguments if argument.is_out]

    @property
    def cpp_return(self) -> str:
        """The return type of a kernel."""
        outs = self.outs
        if len(outs) == 1 and outs[0].is_tensor:
            return "Tensor&"
        if len(outs) > 1 and all(out.is_tensor for out in outs):
            return f"std::tuple<{', '.join(['Tensor&'] * len(outs))}>"
        return "void"


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


def parse_schema(text: str) -> Schema:
    """Reads a signature such as `my_ops::mul3.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)`.

    Raises:
        ValueError: the text is not a signature, or kernels do not support a type in it.
    """
    match = re.fullmatch(r"\s*([\w:]+(?:\.\w+)?)\((.*)\)\s*->\s*(.+?)\s*", text, re.DOTALL)
    if match is None:
        raise ValueError(
            f"{text!r} is not a signature such as my_ops::mul3.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)"
        )
    name = match[1] if "::" in match[1] else f"aten::{match[1]}"
    arguments = [_argument(part, name) for part in _split(match[2]) if part != "*"]
    return Schema(" ".join(text.split()), name, tuple(arguments))


def _split(text: str) -> list[str]:
    """Splits at commas outside of brackets."""
    parts, depth, current = [], 0, ""
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += letter
    if current.strip():
        parts.append(current.strip())
    return parts


def _argument(text: str, operator: str) -> Argument:
    declaration = re.sub(r"\s*=.*$", "", text)
    match = re.fullmatch(
        r"(\w+)(\((\w+)(!)?(?: -> [^)]*)?\))?(\?)?(\[\w*\](\([^)]*!\))?)?(\?)?\s+(\w+)", declaration
    )
    if match is None:
        raise ValueError(f"{operator}: {text!r} is not a parameter of a signature")
    base, written = match[1], bool(match[4]) or bool(match[7])
    inner_optional, is_list, outer_optional = bool(match[5]), match[6] is not None, bool(match[8])
    cpp: str | None
    if is_list:
        cpp = _LISTS.get(base + "?" * inner_optional)
        if cpp and outer_optional:
            cpp = f"const optional<{cpp}>&" if base == "Tensor" else f"optional<{cpp}>"
    else:
        kinds = _TYPES.get(base)
        cpp = kinds[inner_optional or outer_optional] if kinds else None
    if cpp is None:
        raise ValueError(f"{operator}: kernels do not support the type of the parameter {text!r}")
    is_tensor = base == "Tensor" and not is_list and not inner_optional
    return Argument(match[9], "Tensor&" if written and is_tensor else cpp, written, is_tensor)


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
    known = {"op", "func", "kernels", "type_alias", "dim_order_alias", "variants", "namespace", "tags"}
    unknown = sorted(str(key) for key in set(entry) - known)
    if unknown:
        raise ValueError(
            f"an entry has the unknown key {unknown[0]!r}; the valid keys are {', '.join(sorted(known))}"
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
    kernels = entry.get("kernels")
    if not isinstance(kernels, list) or not kernels:
        raise ValueError(f"{name} has no list `kernels`")
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


def selected_yaml(usage: Usage) -> str:
    """Returns the text of `selected_operators.yaml`, which `rushlight select` can read."""
    everything = "true" if usage.every_operator else "false"
    if not usage.operators:
        return f"include_all_operators: {everything}\noperators: {{}}\n"
    lines = [f"include_all_operators: {everything}", "operators:"]
    lines += [f'  "{name}": {{}}' for name in sorted(usage.operators)]
    return "\n".join(lines) + "\n"


def declarations(index: KernelIndex, names: Iterable[str]) -> str:
    """Returns the text of `NativeFunctions.h`, which declares the kernels of a library."""
    lines = [
        "#pragma once",
        "",
        "#include <tuple>",
        "",
        "#include <executorch/runtime/kernel/kernel_includes.h>",
        "",
        "// Generated from YAML files of kernels.",
    ]
    seen: set[str] = set()
    for name in names:
        for entry in index.kernels.get(name, []):
            if entry.function is None or entry.function in seen:
                continue
            seen.add(entry.function)
            namespace, _, function = entry.function.rpartition("::")
            schema = schema_of(index, name)
            parameters = "".join(f", {argument.cpp_type} {argument.name}" for argument in schema.arguments)
            lines += [
                f"namespace {namespace} {{",
                "using namespace ::executorch::aten;",
                f"{schema.cpp_return} {function}(",
                f"    ::executorch::runtime::KernelRuntimeContext& context{parameters});",
                f"}}  // namespace {namespace}",
            ]
    return "\n".join(lines) + "\n"


# `RegisterKernels.h` of a library whose application registers the kernels.
MANUAL_HEADER = """\
#pragma once

#include <executorch/runtime/core/error.h>

namespace torch::executor {

// Registers the kernels of this library. The application calls this function once, before it loads a method.
::executorch::runtime::Error register_all_kernels();

}  // namespace torch::executor
"""


def registration(
    index: KernelIndex, names: Sequence[str], tables: Sequence[str], library: str, manual: bool = False
) -> str:
    """Returns the text of the source file that registers a library's kernels.

    Args:
        index: the kernels of the YAML files.
        names: the operators of the library.
        tables: the runtime's kernel libraries to search, in order: `optimized`, `quantized`, `portable`.
        library: the name of the library.
        manual: whether the application calls `register_all_kernels()`. Otherwise, the kernels are registered
            before `main` runs.

    Raises:
        ValueError: an operator needs a kernel of the runtime, and `tables` is empty.
    """
    own = [(name, entry) for name in names for entry in index.kernels.get(name, []) if entry.function]
    builtin = [
        name
        for name in names
        if name not in index.kernels or any(entry.function is None for entry in index.kernels[name])
    ]
    if builtin and not tables:
        raise ValueError(
            f"{builtin[0]} needs a kernel of the runtime: add portable_kernels or optimized_kernels "
            f"to KERNEL_LIBS"
        )
    lines = ["// Generated from YAML files of kernels.", '#include "NativeFunctions.h"']
    lines += ['#include "RegisterKernels.h"', ""] if manual else [""]
    lines += [f"#include <rushlight/kernels/{table}.h>" for table in tables if builtin]
    lines += ["#include <executorch/extension/kernel_util/make_boxed_from_unboxed_functor.h>"]
    lines += ["#include <executorch/runtime/kernel/operator_registry.h>", "", "namespace {", ""]
    if own:
        lines += ["using ::executorch::extension::make_boxed_kernel;", ""]
        lines += ["const ::executorch::runtime::Kernel kernels[] = {"]
        for name, entry in own:
            key = f', "{entry.key}"' if entry.key else ""
            lines += [f'    make_boxed_kernel("{name}", EXECUTORCH_FN({entry.function}){key}),']
        lines += ["};", ""]
    if builtin:
        lines += ["// Operators with kernels of the runtime, sorted.", "const char* const names[] = {"]
        lines += [f'    "{name}",' for name in builtin]
        listed = ", ".join(f"::rushlight::{table}_kernels()" for table in tables)
        lines += ["};", "::rushlight::Kernel rows[sizeof(names) / sizeof(names[0])];", ""]
    lines += ["::executorch::runtime::Error register_all() {", "  using ::executorch::runtime::Error;"]
    if builtin:
        lines += [
            f"  const ::rushlight::KernelTable tables[] = {{{listed}}};",
            "  size_t count = 0;",
            "  for (const char* name : names) {",
            "    const ::rushlight::Kernel* row = ::rushlight::find_kernel(tables, name);",
            '    ET_CHECK_MSG(row != nullptr, "the runtime has no kernel for %s", name);',
            "    rows[count++] = *row;",
            "  }",
            "  using ::executorch::runtime::internal::register_table;",
            "  const Error error = register_table({rows, count}, 0);",
            "  if (error != Error::Ok) return error;",
        ]
    last = "::executorch::runtime::register_kernels(kernels)" if own else "Error::Ok"
    lines += [f"  return {last};", "}", "", "}  // namespace", ""]
    if manual:
        lines += [
            "::executorch::runtime::Error torch::executor::register_all_kernels() { return register_all(); }",
        ]
    else:
        symbol = f"rushlight_registered_{re.sub(r'[^A-Za-z0-9_]', '_', library)}"
        lines += ["// Linker options name this symbol, so that the linker keeps the object file."]
        lines += [f'extern "C" const bool {symbol};']
        lines += [f'extern "C" const bool {symbol} = register_all() == ::executorch::runtime::Error::Ok;']
    return "\n".join(lines) + "\n"


def torch_library(index: KernelIndex, names: Sequence[str]) -> str:
    """Returns the text of the source file of a PyTorch library that calls the kernels in eager mode.

    The library also defines a functional operator `ns::op` for each operator `ns::op.out`. It allocates an
    out tensor with the shape and dtype of the first tensor argument, and the kernel resizes this tensor.
    Operators without a kernel for all dtypes are left out; `without_default_kernel` lists them.

    Raises:
        ValueError: an operator does not have exactly one out tensor.
    """
    lines = ["// Generated from YAML files of kernels.", '#include "NativeFunctions.h"', ""]
    lines += ["#include <executorch/extension/aten_util/make_aten_functor_from_et_functor.h>"]
    lines += ["#include <torch/library.h>", ""]
    spaces: dict[str, list[str]] = {}
    for name in names:
        function = _default_kernel(index, name)
        if function is None:
            continue
        schema = schema_of(index, name)
        if len(schema.outs) != 1 or schema.cpp_return != "Tensor&":
            raise ValueError(f"{name}: a PyTorch library needs kernels with exactly one out tensor")
        namespace, _, operator = name.partition("::")
        text = schema.text.partition("::")[2]
        out = schema.arguments.index(schema.outs[0])
        rows = spaces.setdefault(namespace, [])
        rows.append(f'  m.def("{text}", WRAP_TO_ATEN({function}, {out}));')
        functional = _functional(schema, function, out)
        if functional:
            rows.append(functional)
    for namespace, rows in spaces.items():
        lines += [f"TORCH_LIBRARY_FRAGMENT({namespace}, m) {{", *rows, "}", ""]
    return "\n".join(lines)


def without_default_kernel(index: KernelIndex, names: Sequence[str]) -> list[str]:
    """Returns the operators that have no kernel for all dtypes, which eager mode needs."""
    return [name for name in names if _default_kernel(index, name) is None]


def _default_kernel(index: KernelIndex, name: str) -> str | None:
    """Returns the function that computes an operator for all dtypes."""
    return next((entry.function for entry in index.kernels.get(name, []) if entry.key is None), None)


def _functional(schema: Schema, function: str, out: int) -> str | None:
    """Returns the definition of the functional operator, or None if the operator has no tensor argument."""
    inputs = [argument for argument in schema.arguments if not argument.is_out]
    like = next((i for i, argument in enumerate(inputs) if argument.is_tensor), None)
    base, _, overload = schema.name.partition(".")
    if like is None or overload not in ("out", ""):
        return None
    signature = schema.text.partition("::")[2].partition("(")[2].rpartition("->")[0].strip().rstrip(")")
    kept = [part for part in _split(signature) if "!" not in part]
    if kept and kept[-1] == "*":
        kept.pop()
    wrapped = f"WRAP_TO_ATEN({function}, {out})"
    types = [_aten_type(argument.cpp_type) for argument in inputs]
    parameters = ", ".join(f"{kind} a{i}" for i, kind in enumerate(types))
    arguments = "".join(f"a{i}, " for i in range(len(inputs)))
    return (
        f'  m.def("{base.partition("::")[2]}({", ".join(kept)}) -> Tensor", []({parameters}) {{\n'
        f"    at::Tensor out = at::empty_like(a{like});\n"
        f"    ({wrapped})({arguments}out);\n"
        f"    return out;\n"
        f"  }});"
    )


def _aten_type(cpp_type: str) -> str:
    """Returns ATen's type for a kernel parameter."""
    plain = {
        "TensorList": "at::TensorList",
        "string_view": "c10::string_view",
        "ScalarType": "at::ScalarType",
    }
    text = plain.get(cpp_type, cpp_type)
    text = re.sub(r"\b(Tensor|Scalar|ArrayRef)\b(?!List)", r"at::\1", text) if text == cpp_type else text
    return re.sub(r"\boptional<", "std::optional<", text)


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
