"""The signatures of operators, and the C++ types that their kernels take.

A signature is text such as `my_ops::mul3.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

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
    arguments = [_argument(part, name) for part in split_parameters(match[2]) if part != "*"]
    return Schema(" ".join(text.split()), name, tuple(arguments))


def split_parameters(text: str) -> list[str]:
    """Splits the parameters of a signature: at the commas outside of brackets."""
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
