"""Finds the functional and out variants of operators by their schemas."""

from __future__ import annotations

import dataclasses

import torch
from torch._ops import OpOverload
from torchgen.model import FunctionSchema, SchemaKind  # type: ignore[import-untyped]
from torchgen.native_function_generation import (  # type: ignore[import-untyped]
    functional_to_out_signature,
    mutable_to_out_signature,
    self_to_out_signature,
)

from rushlight.ir.edge_ops import aten_op


def get_torch_op_overload(namespace: str, opname: str, overload: str | None) -> OpOverload:
    """Returns a torch operator by its namespace, its name and the name of its overload.

    Raises:
        AttributeError: the operator does not exist.
    """
    found: OpOverload = getattr(getattr(getattr(torch.ops, namespace), opname), overload or "default")
    return found


def get_callable(name: str) -> OpOverload:
    """Returns an operator of the namespace `aten` by a name such as "add.Tensor"."""
    opname, _, overload = name.partition(".")
    return get_torch_op_overload("aten", opname, overload)


def get_overload_schema(op_overload: object) -> FunctionSchema | None:
    """Returns the schema of an operator as an object of torchgen; None if torchgen cannot parse it.

    Raises:
        TypeError: the argument is not an operator.
    """
    op = aten_op(op_overload)
    if op is None:
        raise TypeError(f"{op_overload!r} is not an operator")
    return native_schema(op._schema)


def native_schema(schema: torch._C.FunctionSchema) -> FunctionSchema | None:
    """Converts a schema to an object of torchgen, with the namespace of the operator.

    Returns:
        The object; None if torchgen cannot parse the schema.
    """
    namespace, separator, _ = schema.name.rpartition("::")
    try:
        parsed = FunctionSchema.parse(str(schema).removeprefix(namespace + separator))
    except (AssertionError, RuntimeError, ValueError):
        return None
    base = dataclasses.replace(parsed.name.name, namespace=namespace or None)
    return dataclasses.replace(parsed, name=dataclasses.replace(parsed.name, name=base))


def to_variant(op: OpOverload, variant: SchemaKind) -> OpOverload:
    """Returns the functional or the out variant of an operator. Its other arguments are the same.

    Args:
        op: the operator.
        variant: `SchemaKind.functional` or `SchemaKind.out`.

    Raises:
        ValueError: `variant` is another kind.
        RuntimeError: the operator has no such variant.
    """
    if variant not in (SchemaKind.functional, SchemaKind.out):
        raise ValueError(f"{variant} is neither functional nor out")
    wanted = _arguments_of(op)
    name = str(op._schema.name)
    for overload in torch._C._jit_get_operation(name)[1]:
        other = get_torch_op_overload(op.namespace, name.split("::")[1], overload)
        schema = native_schema(other._schema)
        if schema is not None and schema.kind() is variant and _arguments_of(other) == wanted:
            return other
    raise RuntimeError(f"{op} has no {variant.name} variant")


def _arguments_of(op: OpOverload) -> FunctionSchema | None:
    """Returns an operator's schema without results and out arguments, as torchgen's `signature()` does."""
    schema = native_schema(op._schema)
    return None if schema is None else dataclasses.replace(schema.signature(), returns=())


def gen_out_variant_schema(func_op_schema: str) -> str:
    """Returns the schema of the out variant of an operator.

    Args:
        func_op_schema: a schema such as "aten::mul.Scalar(Tensor self, Scalar other) -> Tensor".

    Raises:
        ValueError: schemas of this kind have no out variant.
    """
    namespace, _, text = func_op_schema.rpartition("::")
    schema = FunctionSchema.parse(text)
    makers = {
        SchemaKind.functional: functional_to_out_signature,
        SchemaKind.inplace: self_to_out_signature,
        SchemaKind.mutable: mutable_to_out_signature,
        SchemaKind.out: lambda given: given,
    }
    if schema.kind() not in makers:
        raise ValueError(f"{func_op_schema} is {schema.kind().name}, which has no out variant")
    made = makers[schema.kind()](schema)
    return f"{namespace}::{made}" if namespace else str(made)


def output_to_aliased_input_map(schema: torch._C.FunctionSchema) -> dict[int, int]:
    """Maps each result that aliases a written argument to the position of this argument."""
    written = {
        frozenset(argument.alias_info.before_set): index
        for index, argument in reversed(list(enumerate(schema.arguments)))
        if argument.alias_info is not None and argument.alias_info.is_write
    }
    found = {}
    for index, result in enumerate(schema.returns):
        info = result.alias_info
        if info is not None and info.is_write and frozenset(info.before_set) in written:
            found[index] = written[frozenset(info.before_set)]
    return found
