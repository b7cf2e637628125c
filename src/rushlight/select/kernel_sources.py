"""The C++ sources of a library whose kernels YAML files list."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rushlight.select.kernel_index import KernelIndex, schema_of
from rushlight.select.signatures import Schema, split_parameters

# `RegisterKernels.h` of a library whose application registers the kernels.
MANUAL_HEADER = """\
#pragma once

#include <executorch/runtime/core/error.h>

namespace torch::executor {

// Registers the kernels of this library. The application calls this function once, before it loads a method.
::executorch::runtime::Error register_all_kernels();

}  // namespace torch::executor
"""


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
    kept = [part for part in split_parameters(signature) if "!" not in part]
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
