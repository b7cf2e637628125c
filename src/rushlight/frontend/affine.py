"""Converts models quantized by torchao's `quantize_` to the operators of quantized_decomposed.

The weights of these models are tensor subclasses. The graph reads the inner tensors of each weight (the
integers, scales and zero points) and calls torchao's affine operators. The block size of an affine operator
selects the quantization granularity; quantized_decomposed has one operator for each granularity.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.fx import Node
from torch.fx.node import Argument, map_arg

from rushlight.frontend.int8_linear import QuantizedInput, int8_linear
from rushlight.ir import (
    meta,
    quantized_ops,  # noqa: F401  (defines quantized_decomposed)
)
from rushlight.ir.constants import NewConstants, constant_inputs, stored_tensor
from rushlight.ir.edge_ops import is_op
from rushlight.ir.facts import MethodProgram
from rushlight.passes.base import ProgramPass

qd = torch.ops.quantized_decomposed
rl = torch.ops.rushlight
_ACCESS = "export.access_subclass_inner_tensor.default"
_CHOOSE = "torchao.choose_qparams_affine.default"
_QUANTIZE = "torchao.quantize_affine.default"
_DEQUANTIZE = "torchao.dequantize_affine.default"
_DEQUANTIZE_INT4 = "torchao.dequantize_int4_tensor.default"
_DEQUANTIZE_GGUF = "torchao.dequantize_gguf.default"
_INT8 = (-128, 127)


def uses_quantized_tensors(program: ExportedProgram) -> bool:
    """Whether the program's graph reads tensor subclasses or calls torchao's affine operators."""
    return any(
        str(node.target) in (_ACCESS, _CHOOSE, _DEQUANTIZE, _DEQUANTIZE_INT4, _DEQUANTIZE_GGUF)
        for node in program.graph.nodes
    )


class LowerQuantizedTensorsPass(ProgramPass):
    """Stores the inner tensors of tensor subclasses as buffers, and replaces affine operators.

    Four patterns become operators of quantized_decomposed: activations that are quantized to int8 at run
    time, with parameters for each row, stored int8 matrices, with parameters for each channel or group,
    stored matrices of packed 4-bit integers, and linear layers that multiply int8 matrices. Other affine
    operators are not changed; they are decomposed later. Stored matrices in the blocks of GGUF files, and
    packed ones whose zero points are no integers, become floats.
    """

    def rewrite(self, program: MethodProgram) -> bool:
        """Rewrites the graph. Returns True, because it always counts as changed."""
        _store_inner_tensors(program)
        _rewrite_int8_linears(program)
        for node in [node for node in program.graph.nodes if str(node.target) == _CHOOSE]:
            _rewrite_dynamic_rows(node)
        constants = constant_inputs(program)
        for node in [node for node in program.graph.nodes if str(node.target) == _DEQUANTIZE]:
            _rewrite_stored_matrix(program, node, constants)
        for node in [node for node in program.graph.nodes if str(node.target) == _DEQUANTIZE_INT4]:
            _rewrite_packed_matrix(program, node)
        for node in list(program.graph.nodes):
            if str(node.target) in (_DEQUANTIZE_INT4, _DEQUANTIZE_GGUF):
                _store_values(program, node)
        return True


def _store_inner_tensors(program: ExportedProgram) -> None:
    graph = program.graph
    specs = {spec.arg.name: spec for spec in program.graph_signature.input_specs}
    inner: dict[Node, object] = {}
    names: dict[Node, str] = {}
    new = NewConstants(program)
    for node in list(graph.nodes):
        if node.op == "placeholder" and node.name in specs:
            inner[node] = stored_tensor(program, specs[node.name])
        if str(node.target) != _ACCESS or inner.get(node.args[0]) is None:
            continue
        inner[node] = value = getattr(inner[node.args[0]], str(node.args[1]))
        names[node] = f"{names.get(node.args[0], node.args[0])}_{node.args[1]}"
        readers = [user for user in node.users if str(user.target) != _ACCESS]
        if readers:
            stored = new.add(names[node], value.detach(), meta.get_val(node), node)
            for user in readers:
                user.replace_input_with(node, stored)
    for node in reversed(list(inner)):
        if str(node.target) == _ACCESS and not node.users:
            graph.erase_node(node)


def _values(node: Node, names: Sequence[str]) -> list[Any]:
    """Returns the arguments of a call with the given names. Omitted arguments have their default values."""
    schema = node.target._schema.arguments  # type: ignore[union-attr]
    found = {argument.name: argument.default_value for argument in schema if argument.has_default_value()}
    found |= dict(zip((argument.name for argument in schema), node.args, strict=False)) | dict(node.kwargs)
    return [found[name] for name in names]


def _call(before: Node, op: OpOverload, *args: Argument) -> Node:
    """Inserts a call of `op` in front of `before`, with the source line of `before`."""
    with before.graph.inserting_before(before):
        node = before.graph.call_function(op, args)
    meta.copy_origin(before, node)
    values = [meta.get_val(item) if isinstance(item, Node) else item for item in args]
    with meta.get_val(before.all_input_nodes[0]).fake_mode:
        meta.set_val(node, op(*values))
    return node


def _rewrite_dynamic_rows(choose: Node) -> None:
    """Replaces the quantization of activations at run time, with parameters for each row.

    Before: s, z = choose_qparams_affine(x, [1, .., n]); dequantize_affine(quantize_affine(x, s, z), s, z)
    Expected: the same with choose_qparams_per_token_asymmetric, quantize_per_token and dequantize_per_token
    """
    source, mapping, block, dtype, low, high = _values(
        choose, ("input", "mapping_type", "block_size", "target_dtype", "quant_min", "quant_max")
    )
    shape = meta.get_val(source).shape
    is_row = list(block[:-1]) == [1] * (len(shape) - 1) and block[-1] == shape[-1]
    if mapping != "ASYMMETRIC" or dtype is not torch.int8 or (low, high) not in (_INT8, (None, None)):
        return
    items = sorted(choose.users, key=lambda item: str(item.args[1]))
    users = [user for item in items for user in item.users]
    quantized = [user for user in dict.fromkeys(users) if str(user.target) == _QUANTIZE]
    ends = [user for q in quantized for user in q.users]
    known = {*quantized, *ends}
    if not is_row or len(items) != 2 or any(user not in known for user in users):
        return
    if any(str(end.target) != _DEQUANTIZE or end.args[2] is not items[0] for end in ends):
        return
    if any(q.args[0] is not source or q.args[2] is not items[0] for q in quantized):
        return
    chosen = _call(choose, qd.choose_qparams_per_token_asymmetric.default, source, torch.int8)
    scale, zero = (_item(choose, chosen, index) for index in range(2))
    for q in quantized:
        ints = _call(q, qd.quantize_per_token.default, source, scale, zero, *_INT8, torch.int8)
        for end in list(q.users):
            dtype = meta.get_val(end).dtype
            end.replace_all_uses_with(
                _call(end, qd.dequantize_per_token.default, ints, scale, zero, *_INT8, torch.int8, dtype)
            )
            end.graph.erase_node(end)
        q.graph.erase_node(q)
    for item in (*items, choose):
        choose.graph.erase_node(item)


def _item(before: Node, source: Node, index: int) -> Node:
    with before.graph.inserting_before(before):
        node = before.graph.call_function(operator.getitem, (source, index))
    meta.copy_origin(before, node)
    meta.set_val(node, meta.get_val(source)[index])
    return node


def _rewrite_int8_linears(program: ExportedProgram) -> None:
    """Replaces linear layers that multiply stored int8 matrices; see `int8_linear`.

    Expected: linear(dequantize(quantize(x)), dequantize_per_channel_group(w), bias), or with a float input x
    """
    constants = constant_inputs(program)
    for node in list(program.graph.nodes):
        layer = int8_linear(node, constants)
        if layer is None:
            continue
        before = layer.result
        scales, stored = layer.scales, constants[layer.scales.name]
        rows, size = meta.get_shape(layer.weight)
        if len(stored) != rows:
            stored = stored.expand(rows, 1).contiguous()
            fake = meta.get_val(scales).fake_mode.from_tensor(stored, static_shapes=True)
            scales = NewConstants(program).add(f"{scales.name}_of_rows", stored, fake, scales)
        tail = (scales, None, *_INT8, torch.int8, size, torch.float32)
        weight = _call(before, qd.dequantize_per_channel_group.default, layer.weight, *tail)
        given = layer.input
        x = given if isinstance(given, Node) else _rounded(before, given)
        new = _call(before, torch.ops.aten.linear.default, x, weight, layer.bias)
        if layer.is_flat:
            new = _call(before, torch.ops.aten.reshape.default, new, [-1, meta.get_shape(new)[-1]])
        before.replace_all_uses_with(new)
        _erase_unused(before)


def _rounded(before: Node, given: QuantizedInput) -> Node:
    """Inserts the quantization and the dequantization of an input."""
    bounds = given.quant_min, given.quant_max
    if given.choose is None:
        params = given.scale, given.zero_point, *bounds, torch.int8
        ints = _call(before, qd.quantize_per_tensor.default, given.source, *params)
        return _call(before, qd.dequantize_per_tensor.default, ints, *params)
    arguments: tuple[Argument, ...]
    if given.per_row and given.symmetric:
        op, arguments = rl.choose_qparams_per_token_symmetric.default, (*bounds, given.eps, torch.int8)
    elif given.per_row:
        op, arguments = qd.choose_qparams_per_token_asymmetric.default, (torch.int8,)
    else:
        op = qd.choose_qparams_symmetric.tensor if given.symmetric else qd.choose_qparams.tensor
        arguments = (*bounds, given.eps, torch.int8)
    chosen = _call(before, op, given.source, *arguments)
    scale, zero = (_item(before, chosen, index) for index in range(2))
    if given.per_row:
        ints = _call(before, qd.quantize_per_token.default, given.source, scale, zero, *bounds, torch.int8)
        tail = (scale, zero, *bounds, torch.int8, torch.float32)
        return _call(before, qd.dequantize_per_token.default, ints, *tail)
    ints = _call(before, qd.quantize_per_tensor.tensor, given.source, scale, zero, *bounds, torch.int8)
    return _call(before, qd.dequantize_per_tensor.tensor, ints, scale, zero, *bounds, torch.int8)


def _erase_unused(node: Node) -> None:
    """Erases a node that only checks of metadata read, and then its inputs in the same way."""
    checks = list(node.users)
    if node.op != "call_function" or not all(
        is_op(user, torch.ops.aten._assert_tensor_metadata.default) for user in checks
    ):
        return
    sources = node.all_input_nodes
    for old in (*checks, node):
        node.graph.erase_node(old)
    for source in sources:
        _erase_unused(source)


def _rewrite_stored_matrix(
    program: ExportedProgram, node: Node, constants: Mapping[str, torch.Tensor]
) -> None:
    """Replaces the dequantization of a stored int8 matrix `q`.

    Before: dequantize_affine(q, [1, n], s, z)
    Expected: dequantize_per_channel_group(q, s, z) with groups of n elements. z is int32, because torch's
    implementation subtracts it in the dtype of both; it is None if all zero points are 0.
    """
    source, block, scale, zero, dtype, low, high, result = _values(
        node,
        (
            "input",
            "block_size",
            "scale",
            "zero_point",
            "input_dtype",
            "quant_min",
            "quant_max",
            "output_dtype",
        ),
    )
    value = meta.get_val(source)
    if value.dim() != 2 or dtype is not torch.int8 or list(block[:-1]) != [1] or block[1] < 2:
        return
    if source.op != "placeholder" or meta.get_val(scale).shape != (
        value.shape[0],
        value.shape[1] // block[1],
    ):
        return
    if low is None or high is None:
        low, high = _INT8
    stored = constants.get(zero.name) if zero is not None else None
    if stored is not None and stored.dtype is not torch.int32:
        zero = None
        if stored.any():
            wide = stored.to(torch.int32)
            fake = meta.get_val(source).fake_mode.from_tensor(wide, static_shapes=True)
            zero = NewConstants(program).add(f"{source.name}_zero_points", wide, fake, source)
    op = qd.dequantize_per_channel_group.default
    new = _call(node, op, source, scale, zero, low, high, torch.int8, block[1], result)
    node.replace_all_uses_with(new)
    node.graph.erase_node(node)


def _rewrite_packed_matrix(program: ExportedProgram, node: Node) -> None:
    """Replaces the dequantization of a stored matrix of packed 4-bit integers, which is unpacked.

    Before: dequantize_int4_tensor(packed, s, z, n) with integers from 0 to 15
    Expected: dequantize_per_channel_group(q, s, z) with groups of n integers from -8 to 7
    """
    names = ("qdata", "scale", "zero_point", "group_size", "output_dtype")
    *sources, group, result = _values(node, names)
    specs = {spec.arg.name: spec for spec in program.graph_signature.input_specs}
    stored = [stored_tensor(program, specs[s.name]) if s.op == "placeholder" else None for s in sources]
    packed, scale, zero = stored
    if packed is None or scale is None or zero is None or not torch.equal(zero, zero.round()):
        return
    values = (
        unpacked_int4(packed) - 8,
        scale.t().contiguous(),
        (zero.t() - 8).to(torch.int8).contiguous(),
    )
    new = NewConstants(program)
    mode = meta.get_val(node).fake_mode
    added = [
        new.add(f"{source.name}_unpacked", value, mode.from_tensor(value, static_shapes=True), source)
        for source, value in zip(sources, values, strict=True)
    ]
    op = qd.dequantize_per_channel_group.default
    call = _call(node, op, *added, -8, 7, torch.int8, group, result)
    node.replace_all_uses_with(call)
    node.graph.erase_node(node)


def _store_values(program: ExportedProgram, node: Node) -> None:
    """Replaces an operator on stored tensors by a constant, its result."""
    constants = constant_inputs(program)
    if any(source.name not in constants for source in node.all_input_nodes):
        return
    args, kwargs = map_arg((node.args, node.kwargs), lambda source: constants[source.name])
    value = node.target(*args, **kwargs)  # type: ignore[operator]
    source = node.all_input_nodes[0]
    fake = meta.get_val(node).fake_mode.from_tensor(value, static_shapes=True)
    node.replace_all_uses_with(NewConstants(program).add(f"{source.name}_values", value, fake, source))
    node.graph.erase_node(node)


def unpacked_int4(qdata: torch.Tensor) -> torch.Tensor:
    """Returns the integers of a packed matrix.

    Args:
        qdata: uint8 [n, k / 2]. The lower half of a byte is the first of two values from 0 to 15.

    Returns:
        int8 [n, k].
    """
    halves = torch.stack([qdata & 15, (qdata >> 4) & 15], dim=-1)
    return halves.flatten(-2).to(torch.int8)
