"""The values of a method: tensors, scalars and lists. Instructions refer to them by index."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar, Union

import torch

from rushlight.emit.errors import EmitError
from rushlight.emit.tensors import LAYOUTS, MEMORY_FORMATS, SCALAR_TYPES, make_tensor
from rushlight.format.program import (
    Bool,
    BoolList,
    Double,
    DoubleList,
    EValue,
    Int,
    IntList,
    KernelTypes,
    Null,
    OptionalTensorList,
    String,
    Tensor,
    TensorList,
)
from rushlight.ir.spec import TensorSpec


@dataclass(frozen=True, slots=True)
class Ref:
    """The index of a value of the method."""

    index: int


Scalar = TypeVar("Scalar")

Emitted: TypeAlias = Union[Ref, None, bool, int, float, str, "list[Emitted]"]
"""The emitted form of a node: a value, a list of values, or a scalar that is not in the table."""


class Values:
    """The table of a method's values. Equal constants are stored once."""

    def __init__(self) -> None:
        self.items: list[EValue] = []
        self._constants: dict[object, Ref] = {}
        self._specs: dict[TensorSpec, Ref] = {}

    def fresh(self, value: KernelTypes) -> Ref:
        """Adds a value that is not shared with other uses. Instructions may write it."""
        self.items.append(EValue(value))
        return Ref(len(self.items) - 1)

    def tensor(self, ref: Ref) -> Tensor | None:
        """Returns the tensor of a value, or None if the value is not a tensor."""
        value = self.items[ref.index].val
        return value if isinstance(value, Tensor) else None

    def of_spec(self, spec: TensorSpec) -> Ref:
        """Returns the value of a tensor spec. The first call creates the value."""
        ref = self._specs.get(spec)
        if ref is None:
            ref = self.bind(spec, self.fresh(make_tensor(spec)))
        return ref

    def has_spec(self, spec: TensorSpec) -> bool:
        """Returns whether a tensor has a value."""
        return spec in self._specs

    def bind(self, spec: TensorSpec, ref: Ref) -> Ref:
        """Makes `ref` the value of `spec`."""
        self._specs[spec] = ref
        return ref

    def constant(self, value: object, kind: torch._C.JitType | None = None) -> Ref:
        """Returns the value of an argument, and adds it to the table if necessary.

        Args:
            value: the argument.
            kind: the type of the argument in the schema. None means that the Python type of `value` decides.

        Raises:
            EmitError: the file format cannot store the value.
        """
        if isinstance(value, Ref):
            return value
        if isinstance(kind, torch.OptionalType):
            if value is None:
                return self._shared(Null())
            return self.constant(value, kind.getElementType())
        if isinstance(kind, torch.ListType) and isinstance(value, (bool, int, float, Ref)):
            value = [value]
        if isinstance(value, (list, tuple)):
            element = kind.getElementType() if isinstance(kind, torch.ListType) else None
            return self._list(value, element)
        return self._shared(scalar_value(value, kind))

    def _list(self, values: Sequence[object], element: torch._C.JitType | None) -> Ref:
        if isinstance(element, torch.OptionalType):
            items = [-1 if v is None else self.constant(v).index for v in values]
            return self._shared(OptionalTensorList(items))
        if isinstance(element, torch.TensorType) or (element is None and self._all_tensors(values)):
            return self._shared(TensorList([self.constant(v).index for v in values]))
        if isinstance(element, torch.BoolType) or (element is None and _all_of(values, bool)):
            return self._shared(BoolList([_plain(v, bool) for v in values]))
        if isinstance(element, torch.FloatType) or (element is None and _all_of(values, float)):
            return self._shared(DoubleList([float(_plain(v, (int, float))) for v in values]))
        if any(isinstance(v, float) for v in values):
            return self._shared(DoubleList([float(_plain(v, (int, float))) for v in values]))
        return self._shared(IntList([self.constant(v).index for v in values]))

    def _all_tensors(self, values: Sequence[object]) -> bool:
        return bool(values) and all(isinstance(v, Ref) and self.tensor(v) is not None for v in values)

    def _shared(self, value: KernelTypes) -> Ref:
        key = _key(value)
        ref = self._constants.get(key)
        if ref is None:
            ref = self._constants[key] = self.fresh(value)
        return ref


def _all_of(values: Sequence[object], kind: type) -> bool:
    return bool(values) and all(isinstance(v, kind) for v in values)


def _plain(value: object, kinds: type[Scalar] | tuple[type[Scalar], ...]) -> Scalar:
    if not isinstance(value, kinds):
        raise EmitError(f"a list of constants cannot contain {value!r}")
    return value


def scalar_value(value: object, kind: torch._C.JitType | None = None) -> KernelTypes:
    """Converts a Python or torch constant to a value of the file format."""
    if value is None:
        return Null()
    if isinstance(value, bool):
        return Bool(value)
    if isinstance(value, int):
        if isinstance(kind, torch.FloatType):
            return Double(float(value))
        if not -(2**63) <= value < 2**63:
            raise EmitError(f"a program cannot contain the constant {value}: integers have 64 bits")
        return Int(value)
    if isinstance(value, float):
        return Double(value)
    if isinstance(value, str):
        return String(value)
    if isinstance(value, torch.dtype):
        return Int(int(SCALAR_TYPES[value]))
    if isinstance(value, torch.layout):
        return Int(LAYOUTS[value])
    if isinstance(value, torch.memory_format) and value in MEMORY_FORMATS:
        return Int(MEMORY_FORMATS[value])
    raise EmitError(f"a program cannot contain the constant {value!r} of type {type(value).__name__}")


def _key(value: KernelTypes) -> object:
    if isinstance(value, Double):
        # As bytes, 0.0 and -0.0 are different, and a NaN is equal to itself.
        return Double, struct.pack("<d", value.double_val)
    if isinstance(value, DoubleList):
        return DoubleList, struct.pack(f"<{len(value.items)}d", *value.items)
    return type(value), repr(value)
