"""Emits control flow as jumps, moves and copies.

A method has one list of instructions, which includes the bodies of control-flow operators. ExecuTorch's
runtime also supports the instructions of `cond`, `map` and `scan`. In a loop, the carried values have
separate memory. The initial values, and later the results of each iteration, are copied to this memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

from torch.fx import GraphModule, Node

from rushlight.emit.errors import at_node
from rushlight.emit.kernels import scalar_placeholder
from rushlight.emit.state import MethodState
from rushlight.emit.values import Emitted, Ref
from rushlight.format.program import Bool, Int, ScalarType, Tensor, TensorShapeDynamism
from rushlight.ir import meta
from rushlight.ir.control_flow import COND, MAP, SCAN, WHILE_LOOP
from rushlight.ir.spec import TensorSpec
from rushlight.memory.timeline import bodies_of


class BodyEmitter(Protocol):
    """The emitter of the graph that contains the control-flow operator."""

    state: MethodState

    def lookup(self, argument: object) -> Any:
        """Returns the emitted value of a node's argument."""

    def run_body(self, body: GraphModule, inputs: Sequence[Emitted]) -> list[Ref]:
        """Emits a body with the given inputs. Returns the values of its outputs."""


def emit_control_flow(emitter: BodyEmitter, node: Node) -> Emitted:
    """Emits a `cond`, `while_loop`, `map` or `scan` node. Returns its results."""
    target = node.target
    if target is COND:
        return _cond(emitter, node)
    if target is WHILE_LOOP:
        return _while_loop(emitter, node)
    if target is MAP:
        return _map(emitter, node)
    assert target is SCAN
    return _scan(emitter, node)


def _cond(emitter: BodyEmitter, node: Node) -> Emitted:
    state = emitter.state
    results = _results(emitter, node)
    predicate = state.values.constant(emitter.lookup(node.args[0]))
    operands = _refs(emitter, node.args[3] if len(node.args) > 3 else ())
    then, otherwise = bodies_of(node)
    to_otherwise = state.jump_if_false(predicate, -1, node)
    _branch(emitter, node, then, operands, results)
    to_end = state.jump_if_false(state.values.constant(False), -1, node)
    state.land(to_otherwise)
    _branch(emitter, node, otherwise, operands, results)
    state.land(to_end)
    return _as_node_value(node, results)


def _branch(
    emitter: BodyEmitter, node: Node, body: GraphModule, operands: list[Emitted], results: list[Ref]
) -> None:
    outputs = emitter.run_body(body, operands)
    for output, result in zip(outputs, results, strict=True):
        emitter.state.move(output, result, node)


def _while_loop(emitter: BodyEmitter, node: Node) -> Emitted:
    state = emitter.state
    condition, body = bodies_of(node)
    carried = _results(emitter, node)
    captured = _refs(emitter, node.args[3] if len(node.args) > 3 else ())
    for first, value in zip(_refs(emitter, node.args[2]), carried, strict=True):
        _assign(emitter, state.values.constant(first), value, node)
    start = len(state.instructions)
    test = _condition(emitter, node, emitter.run_body(condition, [*carried, *captured]))
    to_end = state.jump_if_false(test, -1, node)
    outputs = emitter.run_body(body, [*carried, *captured])
    for position, output in enumerate(outputs):
        if output in carried and output != carried[position]:
            raise at_node(
                node,
                "the body returns a carried value at the position of another carried value; return a clone "
                "of it",
            )
    for output, value in zip(outputs, carried, strict=True):
        _assign(emitter, output, value, node)
    state.jump_if_false(state.values.constant(False), start, node)
    state.land(to_end)
    return _as_node_value(node, carried)


def _condition(emitter: BodyEmitter, node: Node, outputs: Sequence[Ref]) -> Ref:
    """Returns the result of a loop's condition.

    Raises:
        EmitError: the condition does not return a single bool value.
    """
    if len(outputs) != 1:
        raise at_node(node, f"the condition returns {len(outputs)} values; it must return one bool")
    (test,) = outputs
    value = emitter.state.values.items[test.index].val
    if isinstance(value, Tensor):
        if value.scalar_type is not ScalarType.BOOL or math.prod(value.sizes) != 1:
            raise at_node(
                node,
                f"the condition returns a tensor of {value.scalar_type.name} with sizes {value.sizes}; "
                "it must return one bool",
            )
    elif not isinstance(value, Bool):
        raise at_node(node, f"the condition returns {value}; it must return one bool")
    return test


def _map(emitter: BodyEmitter, node: Node) -> Emitted:
    stacked = _results(emitter, node)
    xs = [ref for ref in _refs(emitter, node.args[1]) if isinstance(ref, Ref)]
    captured = _refs(emitter, node.args[2] if len(node.args) > 2 else ())
    _iterate(emitter, node, xs, [], captured, stacked)
    return _as_node_value(node, stacked)


def _scan(emitter: BodyEmitter, node: Node) -> Emitted:
    results = _results(emitter, node)
    first = _refs(emitter, node.args[1])
    xs = [ref for ref in _refs(emitter, node.args[2]) if isinstance(ref, Ref)]
    captured = _refs(emitter, node.args[3] if len(node.args) > 3 else ())
    carried, stacked = results[: len(first)], results[len(first) :]
    if not xs:
        raise at_node(node, "scan needs at least one tensor to scan over")
    _iterate(emitter, node, xs, list(zip(first, carried, strict=True)), captured, stacked)
    return _as_node_value(node, results)


def _iterate(
    emitter: BodyEmitter,
    node: Node,
    xs: list[Ref],
    carries: list[tuple[Emitted, Ref]],
    captured: list[Emitted],
    stacked: list[Ref],
) -> None:
    """Emits a loop over dimension 0 of `xs`.

    An iteration selects a slice of each tensor, runs the body, copies the carried results and stacks the
    other results.
    """
    state, values = emitter.state, emitter.state.values
    (body,) = bodies_of(node)
    index, count = values.fresh(Int(0)), values.fresh(Int(0))
    state.call("aten::sym_size", "int", [xs[0], values.constant(0), count], node)
    for first, value in carries:
        _assign(emitter, values.constant(first), value, node)
    for ref in stacked:
        tensor = values.tensor(ref)
        # et_copy_index adds one slice to the stacked result in each iteration.
        if tensor is not None and tensor.shape_dynamism == TensorShapeDynamism.STATIC:
            tensor.shape_dynamism = TensorShapeDynamism.DYNAMIC_BOUND
    start = len(state.instructions)
    carried = [value for _, value in carries]
    placeholders = [n for n in body.graph.nodes if n.op == "placeholder"]
    slices: list[Ref] = []
    for x, placeholder in zip(xs, placeholders[len(carried) :], strict=False):
        spec = meta.get_spec(placeholder)
        if not isinstance(spec, TensorSpec):
            raise at_node(node, f"the slice {placeholder.name} has no TensorSpec")
        piece = values.of_spec(spec)
        slices.append(piece)
        state.call("aten::select_copy", "int_out", [x, values.constant(0), index, piece, piece], node)
    outputs = emitter.run_body(body, [*carried, *slices, *captured])
    for output, value in zip(outputs, carried, strict=False):
        _assign(emitter, output, value, node)
    for output, result in zip(outputs[len(carried) :], stacked, strict=True):
        state.call("executorch_prim::et_copy_index", "tensor", [result, output, index], node)
    done = values.fresh(Bool(False))
    state.call("executorch_prim::add", "Scalar", [index, values.constant(1), index], node)
    state.call("executorch_prim::eq", "Scalar", [index, count, done], node)
    state.jump_if_false(done, start, node)
    # Reset the index to 0 for the next execution.
    state.call("executorch_prim::sub", "Scalar", [index, count, index], node)


def _assign(emitter: BodyEmitter, source: Ref, target: Ref, node: Node) -> None:
    """Emits a copy of a tensor's elements, or a move of a scalar."""
    state, values = emitter.state, emitter.state.values
    if source == target:
        return
    tensor = values.tensor(target)
    if tensor is None:
        state.move(source, target, node)
    elif tensor.shape_dynamism == TensorShapeDynamism.STATIC:
        state.call("aten::copy_", "", [target, source, values.constant(False), target], node)
    else:
        # The clone also sets the target's shape.
        state.call("aten::clone", "out", [source, values.constant(None), target, target], node)


def _refs(emitter: BodyEmitter, arguments: object) -> list[Emitted]:
    items = arguments if isinstance(arguments, (list, tuple)) else [arguments]
    return [emitter.state.values.constant(emitter.lookup(item)) for item in items]


def _results(emitter: BodyEmitter, node: Node) -> list[Ref]:
    """Creates a value for each result of the node."""
    spec, value = meta.get_spec(node), meta.get_val(node)
    specs = list(spec) if isinstance(spec, (list, tuple)) else [spec]
    vals = list(value) if isinstance(value, (list, tuple)) else [value]
    values = emitter.state.values
    return [
        values.of_spec(s) if isinstance(s, TensorSpec) else values.fresh(scalar_placeholder(v))
        for s, v in zip(specs, vals, strict=True)
    ]


def _as_node_value(node: Node, results: list[Ref]) -> Emitted:
    if isinstance(meta.get_val(node), (list, tuple)):
        return list(results)
    return results[0]
