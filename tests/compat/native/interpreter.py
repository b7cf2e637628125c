"""Runs native programs with torch's kernels, so that tests can compare them with eager PyTorch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from rushlight.compat.native import schema
from rushlight.compat.native.schema import OpKind, OutputKind, OutputValueKind, ScalarType
from rushlight.compat.native.tables import deserialize_program

DTYPES = {
    ScalarType.BYTE: torch.uint8,
    ScalarType.CHAR: torch.int8,
    ScalarType.SHORT: torch.int16,
    ScalarType.INT: torch.int32,
    ScalarType.LONG: torch.int64,
    ScalarType.HALF: torch.float16,
    ScalarType.FLOAT: torch.float32,
    ScalarType.DOUBLE: torch.float64,
    ScalarType.BOOL: torch.bool,
    ScalarType.BFLOAT16: torch.bfloat16,
}


class Interpreter:
    """A loaded package with the state of its buffers.

    Args:
        ptg: the bytes of the program.
        tensors: the tensors by data key. The interpreter copies them.
    """

    def __init__(self, ptg: bytes, tensors: dict[str, torch.Tensor]) -> None:
        self._methods = {method.name: method for method in deserialize_program(ptg).methods}
        self._state = {key: tensor.clone() for key, tensor in tensors.items()}

    def run(self, name: str, *inputs: torch.Tensor) -> list[Any]:
        """Returns the results of a method, and stores the new values of buffers."""
        method = self._methods[name]
        graph = method.graph
        values: dict[str, Any] = dict(zip(graph.inputs or [], inputs, strict=True))
        metas = {value.name: value.meta for value in graph.tensor_values or []}
        for constant in method.constants or []:
            values[constant.name] = self._state[constant.data_key]
        for buffer in method.mutable_buffers or []:
            meta = metas[buffer.name]
            zeros = torch.zeros([dim.max for dim in meta.sizes], dtype=DTYPES[meta.dtype])
            values[buffer.name] = self._state.setdefault(buffer.fqn, zeros)
        returned = _run_graph(graph, values)
        for name, value in values.items():
            if name in metas and isinstance(value, torch.Tensor):
                _check(metas[name], value)
        specs: Iterator[schema.OutputSpec] = iter(method.output_specs or [])
        results = []
        for value in returned:
            spec = next(specs) if isinstance(value, torch.Tensor) else None
            if spec is not None and spec.kind is OutputKind.BUFFER_MUTATION:
                assert spec.target is not None
                self._state[spec.target] = value
            elif spec is not None and spec.kind is OutputKind.USER_INPUT_MUTATION:
                values[str(spec.target)].copy_(value)
            else:
                results.append(value)
        assert next(specs, None) is None
        return results


def _check(meta: schema.TensorMeta, value: torch.Tensor) -> None:
    assert DTYPES[meta.dtype] is value.dtype and len(meta.sizes) == value.dim()
    for dim, size in zip(meta.sizes, value.shape, strict=True):
        assert dim.min <= size and (dim.max < 0 or size <= dim.max)


def _run_graph(graph: schema.Graph, values: dict[str, Any]) -> list[Any]:
    for node in graph.nodes:
        if node.op_kind is OpKind.OUTPUT:
            return [_value(argument.arg.value, values) for argument in node.inputs or []]
        if node.op_kind is OpKind.PLACEHOLDER:
            assert node.name in values
            continue
        results = _call(node, values)
        (first, *more) = node.outputs or [schema.Output("")]
        if first.kind is OutputValueKind.TENSOR_LIST:
            values.update(zip(first.names or [], results, strict=True))
        elif more or isinstance(results, (tuple, list)):
            values.update(zip([output.name for output in node.outputs or []], results, strict=True))
        else:
            values[first.name] = results
    raise AssertionError("the graph has no output node")


def _call(node: schema.Node, values: dict[str, Any]) -> Any:
    inputs = node.inputs or []
    assert node.target is not None
    if node.target.endswith("higher_order.cond"):
        condition, *bodies, operands = inputs
        body = bodies[0 if _value(condition.arg.value, values) else 1].arg.value
        assert isinstance(body, schema.GraphArg)
        given = _value(operands.arg.value, values)
        return _run_graph(body.graph, dict(zip(body.graph.inputs or [], given, strict=True)))
    _, _, namespace, name, overload = node.target.split(".")
    op = getattr(getattr(getattr(torch.ops, namespace), name), overload)
    named = {argument.name: _value(argument.arg.value, values) for argument in inputs}
    positional = [named[p.name] for p in op._schema.arguments if not p.kwarg_only]
    return op(*positional, **{p.name: named[p.name] for p in op._schema.arguments if p.kwarg_only})


def _value(value: schema.ArgumentValue, values: dict[str, Any]) -> Any:
    if isinstance(value, schema.TensorArg):
        return values[value.name]
    if isinstance(value, schema.TensorListArg):
        return [values[name] for name in value.names]
    if isinstance(value, schema.OptionalTensorListArg):
        return [values[n] if has else None for n, has in zip(value.names, value.has_value, strict=True)]
    if isinstance(value, schema.IntListArg):
        references = value.refs or [""] * len(value.values)
        return [values[ref] if ref else v for v, ref in zip(value.values, references, strict=True)]
    if isinstance(value, schema.IntArg | schema.FloatArg | schema.BoolArg):
        return values[value.ref] if value.ref else value.value
    if isinstance(value, schema.NoneArg):
        return None
    if isinstance(value, schema.ScalarTypeArg):
        return DTYPES[value.value]
    if isinstance(value, schema.FloatListArg | schema.BoolListArg):
        return value.values
    assert isinstance(value, schema.StringArg)
    _, is_torch, name = value.value.partition("torch.")
    return getattr(torch, name) if is_torch else value.value
