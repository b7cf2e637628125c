"""The replay of the planned graph refuses plans with one artificial error."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from rushlight.ir import memory_ops, meta
from rushlight.ir.control_flow import COND, MAP, SCAN, WHILE_LOOP
from rushlight.ir.spec import TensorShapeDynamism, TensorSpec
from rushlight.memory.apply import plan_memory
from rushlight.memory.problem import PlanError
from rushlight.memory.replay import replay_plan
from rushlight.memory.write_back import write_back

aten = torch.ops.aten
SHAPE = [16, 16]
BYTES = 1024


def move(node: Any, offset: Any, mem_id: Any = 1) -> None:
    """Moves the tensor of a node to another offset."""
    spec = meta.get_spec(node)
    spec.mem_id, spec.mem_offset = mem_id, offset


def over(node: Any, other: Any) -> None:
    """Gives the tensor of a node the offset of that of another node."""
    move(node, meta.get_spec(other).mem_offset)


def two_products(g: Any) -> Any:
    x = g.input("x", SHAPE)
    a = g.mm(x, x)
    b = g.mm(a, x)
    return x, a, b, g.output(g.mm(a, b))


def test_a_right_plan_passes(builder: Any) -> None:
    graph = two_products(builder())[-1]
    plan_memory(graph)
    replay_plan(graph)


def test_a_value_that_is_still_read_must_not_be_overwritten(builder: Any) -> None:
    g = builder()
    x = g.input("x", SHAPE)
    a = g.mm(x, x)
    b = g.relu(x)
    graph = g.output(g.mm(a, b))
    plan_memory(graph)
    over(b, a)
    with pytest.raises(PlanError, match=r"mm_out_1 \(.*reads mm_out at \[.*holds relu_out, not mm_out"):
        replay_plan(graph)


def test_a_part_that_is_overwritten_is_found(builder: Any) -> None:
    x, a, b, graph = two_products(builder())
    plan_memory(graph)
    move(b, meta.get_spec(a).mem_offset + BYTES - 16)
    with pytest.raises(PlanError, match="writes its result over mm_out"):
        replay_plan(graph)


def test_a_product_must_not_lie_over_its_argument(builder: Any) -> None:
    x, a, b, graph = two_products(builder())
    plan_memory(graph)
    over(b, a)
    with pytest.raises(
        PlanError, match=r"mm_out_1 \(aten.mm.out\) writes its result over mm_out at .* read this input later"
    ):
        replay_plan(graph)


def test_a_view_lies_where_its_base_lies(builder: Any) -> None:
    g = builder()
    a = g.relu(g.input("x", SHAPE))
    flat = g.view(a, [256])
    graph = g.output(g.call(aten.sum.IntList_out, flat, [0], shape=[]), a)
    plan_memory(graph)
    move(flat, 4 * BYTES)
    with pytest.raises(
        PlanError, match=r"view is planned at \[4096, 5120\) of memory 1, but its bytes are \[0, 1024\)"
    ):
        replay_plan(graph)


def in_place_cases() -> Any:
    """Returns build(g, a, x) -> a node that must not overwrite `a`."""

    def broadcast(g: Any, a: Any, x: Any) -> Any:
        return g.call(aten.add.out, g.view(a, [256, 1]), g.view(a, [1, 256]), shape=[256, 256])

    def other_shape(g: Any, a: Any, x: Any) -> Any:
        return g.call(aten.add.out, a, g.view(a, [1, 16, 16]), shape=[1, 16, 16])

    def scatter_of_itself(g: Any, a: Any, x: Any) -> Any:
        i = g.input("i", SHAPE, torch.int64)
        return g.call(aten.scatter_add.out, a, 1, i, a, shape=SHAPE)

    def rows_of_itself(g: Any, a: Any, x: Any) -> Any:
        i = g.input("i", [16], torch.int64)
        return g.call(aten.index_put.out, a, [i], a, shape=SHAPE)

    def other_dtype(g: Any, a: Any, x: Any) -> Any:
        return g.call(aten.gt.Tensor_out, a, x, shape=SHAPE, dtype=torch.bool)

    def no_row_in_the_table(g: Any, a: Any, x: Any) -> Any:
        return g.call(aten.cumsum.out, a, 0, shape=SHAPE)

    return [broadcast, other_shape, scatter_of_itself, rows_of_itself, other_dtype, no_row_in_the_table]


@pytest.mark.parametrize("build", in_place_cases(), ids=lambda v: v.__name__)
def test_operators_in_place_need_pairs_of_elements(builder: Any, build: Any) -> None:
    g = builder()
    x = g.input("x", SHAPE)
    a = g.mm(x, x)
    node = build(g, a, x)
    graph = g.output(node)
    assert plan_memory(graph).in_place == 0
    over(node, a)
    with pytest.raises(PlanError, match="writes its result over"):
        replay_plan(graph)


def test_an_index_must_not_lie_under_the_result(builder: Any) -> None:
    g = builder()
    y = g.call(aten.bitwise_not.out, g.input("x", [8], torch.int64), shape=[8], dtype=torch.int64)
    put = g.call(aten.scatter.value_out, y, 0, y, 7, shape=[8], dtype=torch.int64)
    graph = g.output(put)
    # Only the complement works in place.
    assert plan_memory(graph).in_place == 1
    over(put, y)
    with pytest.raises(PlanError, match="scatter.* writes its result over bitwise_not"):
        replay_plan(graph)


def test_elements_in_step_may_lie_under_the_result(builder: Any) -> None:
    g = builder()
    a = g.mm(g.input("x", SHAPE), g.input("y", SHAPE))
    graph = g.output(g.call(aten.mul.out, a, a, shape=SHAPE))
    assert plan_memory(graph).in_place == 1
    replay_plan(graph)


def test_two_results_of_one_operator_lie_apart(builder: Any) -> None:
    g = builder()
    x = g.input("x", [1, 4, 4])
    pooled = g.call(aten.max.dim_max, x, 0, shape=[[4, 4], [4, 4]], dtype=torch.float32)
    values, places = g.item(pooled, 0), g.item(pooled, 1)
    graph = g.output(g.mm(values, values), places)
    plan_memory(graph)
    over(pooled.kwargs["max_values"], pooled.kwargs["max"])
    with pytest.raises(PlanError, match="writes two results into"):
        replay_plan(graph)


def delegate(g: Any, inputs: Any, shapes: Any) -> Any:
    """Adds a call of a lowered module."""

    def executorch_call_delegate(*args: Any) -> None:
        raise AssertionError("never run")

    node = g.graph.call_function(executorch_call_delegate, tuple(inputs))
    meta.set_spec(node, [TensorSpec(torch.float32, shape) for shape in shapes])
    meta.set_val(node, [torch.empty(tuple(shape), device="meta") for shape in shapes])
    return node


def test_a_delegate_has_no_result_over_its_inputs(builder: Any) -> None:
    g = builder()
    x = g.input("x", SHAPE)
    a = g.relu(g.mm(x, x))
    call = delegate(g, [a], [SHAPE, SHAPE])
    second = g.item(call, 1)
    graph = g.output(g.item(call, 0), second)
    plan_memory(graph)
    over(second, a)
    with pytest.raises(PlanError, match="executorch_call_delegate.* writes its result over relu_out"):
        replay_plan(graph)


def test_constants_are_never_written(builder: Any, signature: Any) -> None:
    g = builder()
    weight = g.input("weight", SHAPE)
    y = g.relu(weight)
    graph = g.output(y)
    exported = signature(graph, parameters=["weight"])
    plan_memory(graph, exported)
    spec = meta.get_spec(y)
    spec.mem_id = spec.mem_offset = None
    spec.storage_base = meta.get_spec(weight)
    with pytest.raises(PlanError, match="relu_out writes into .* which the program must not change"):
        replay_plan(graph, exported)


def stateful(builder: Any, signature: Any, outputs: Any = lambda g, state, new: []) -> Any:
    g = builder()
    state, x = g.input("state", SHAPE), g.input("x", SHAPE)
    new = g.mm(state, x)
    graph = g.output(new, *outputs(g, state, new))
    exported = signature(graph, buffers=["state"])
    write_back(graph, exported)
    plan_memory(graph, exported)
    return graph, exported, state, new


def test_new_contents_must_be_in_the_buffer_at_the_end(builder: Any, signature: Any) -> None:
    graph, exported, state, new = stateful(builder, signature)
    replay_plan(graph, exported)
    output = graph.graph.output_node()
    output.args = ((new, *output.args[0][1:]),)
    with pytest.raises(PlanError, match="output .* reads state .* holds copy_, not mm_out"):
        replay_plan(graph, exported)


def test_old_contents_are_gone_after_the_write_back(builder: Any, signature: Any) -> None:
    graph, exported, state, _ = stateful(builder, signature, lambda g, state, new: [state])
    output = graph.graph.output_node()
    assert output.args[0][1].target is aten.clone.out
    output.args = ((output.args[0][0], state),)
    with pytest.raises(PlanError, match="output .* reads state .* holds copy_, not state"):
        replay_plan(graph, exported)


def test_an_allocation_that_nothing_filled_is_not_read(builder: Any) -> None:
    g = builder()
    x = g.input("x", SHAPE)
    a = g.mm(x, x)
    graph = g.output(g.mm(a, x))
    last = graph.graph.output_node().args[0][0]
    last.args = (last.kwargs["out"], x)
    with pytest.raises(PlanError, match="mm_out_1 .* reads alloc_1 before any node writes it"):
        plan_memory(graph)


def test_items_of_a_list_of_results_are_read_from_its_allocation(builder: Any) -> None:
    g = builder()
    x = g.input("x", SHAPE)
    halves = g.graph.call_function(memory_ops.alloc, ([((8, 16), torch.float32)] * 2,))
    meta.set_spec(halves, [TensorSpec(torch.float32, [8, 16]) for _ in range(2)])
    meta.set_val(halves, [torch.empty(8, 16, device="meta") for _ in range(2)])
    g.graph.call_function(aten.split_copy.Tensor_out, (x, 8), {"out": halves})
    first, second = g.item(halves, 0), g.item(halves, 1)
    graph = g.output(g.mm(g.view(first, [128, 1]), g.view(second, [1, 128])))
    plan_memory(graph)
    over(second, first)
    with pytest.raises(PlanError, match="split_copy.* writes two results into"):
        replay_plan(graph)
    meta.get_spec(halves)[1].mem_offset = meta.get_spec(x).mem_offset
    with pytest.raises(PlanError, match="split_copy.* writes its result over x"):
        replay_plan(graph)


def test_freed_memory_is_not_read(builder: Any) -> None:
    x, a, b, graph = two_products(builder())
    plan_memory(graph)
    with graph.graph.inserting_after(b):
        graph.graph.call_function(memory_ops.free, (a,))
    with pytest.raises(PlanError, match="reads mm_out at .* holds nothing, not mm_out"):
        replay_plan(graph)


def matmul_twice(builder: Any, arity: Any = 1) -> Any:
    g = builder()
    inputs = [g.input(f"arg{i}", SHAPE) for i in range(arity)]
    first = g.mm(inputs[0], inputs[0])
    return g.output(g.mm(first, first)), first


def test_a_branch_keeps_what_is_read_after_it(builder: Any) -> None:
    (then, inner), (otherwise, _) = matmul_twice(builder), matmul_twice(builder)
    g = builder()
    x, p = g.input("x", SHAPE), g.input("p", [], torch.bool)
    kept = g.mm(x, x)
    y = g.item(g.control_flow(COND, [then, otherwise], [x], shapes=[SHAPE], lead=(p,)), 0)
    graph = g.output(g.mm(kept, y))
    plan_memory(graph)
    replay_plan(graph)
    over(inner, kept)
    with pytest.raises(PlanError, match="reads mm_out at .* holds nothing, not mm_out"):
        replay_plan(graph)


def test_a_branch_keeps_its_operands(builder: Any) -> None:
    (then, inner), (otherwise, _) = matmul_twice(builder), matmul_twice(builder)
    g = builder()
    x, p = g.input("x", SHAPE), g.input("p", [], torch.bool)
    y = g.item(g.control_flow(COND, [then, otherwise], [x], shapes=[SHAPE], lead=(p,)), 0)
    graph = g.output(y)
    plan_memory(graph)
    over(inner, x)
    with pytest.raises(PlanError, match="mm_out .* writes its result over arg0"):
        replay_plan(graph)


def loop(builder: Any) -> Any:
    test = builder()
    a, _ = test.input("a", SHAPE), test.input("b", SHAPE)
    condition = test.output(test.call(aten.any.all_out, a, shape=[], dtype=torch.bool))
    inner = builder()
    carry, captured = inner.input("carry", SHAPE), inner.input("captured", SHAPE)
    product = inner.mm(carry, captured)
    new = inner.relu(product)
    body = inner.output(new)
    g = builder()
    x, w = g.input("x", SHAPE), g.input("w", SHAPE)
    result = g.item(g.control_flow(WHILE_LOOP, [condition, body], (x,), (w,), shapes=[SHAPE]), 0)
    graph = g.output(g.mm(result, result))
    plan_memory(graph)
    return graph, w, carry, product, new


def test_a_loop_keeps_what_its_next_iteration_reads(builder: Any) -> None:
    graph, w, carry, product, new = loop(builder)
    replay_plan(graph)
    over(new, w)
    with pytest.raises(PlanError, match="while_loop .* reads w .* holds relu_out, not w"):
        replay_plan(graph)


def test_a_loop_keeps_its_carried_values_while_it_reads_them(builder: Any) -> None:
    graph, w, carry, product, new = loop(builder)
    meta.get_spec(product).mem_offset = meta.get_spec(carry).mem_offset
    with pytest.raises(PlanError, match="mm_out .* writes its result over carry"):
        replay_plan(graph)


def test_a_scan_keeps_what_it_has_stacked(builder: Any) -> None:
    inner = builder()
    carry, piece = inner.input("carry", [16]), inner.input("piece", [16])
    new = inner.call(aten.add.out, carry, piece, shape=[16])
    body = inner.output(new, inner.relu(new))
    g = builder()
    first, xs = g.input("first", [16]), g.input("xs", SHAPE)
    scan = g.control_flow(SCAN, [body], [first], [xs], [], shapes=[[16], SHAPE])
    graph = g.output(g.item(scan, 0), g.item(scan, 1))
    plan_memory(graph)
    replay_plan(graph)
    over(piece, graph.graph.output_node().args[0][1])
    with pytest.raises(PlanError, match="scan .* reads scan .* holds .*, not scan"):
        replay_plan(graph)


def test_a_map_keeps_its_input_until_the_last_iteration(builder: Any) -> None:
    inner = builder()
    piece = inner.input("piece", [16])
    body = inner.output(inner.relu(piece))
    g = builder()
    xs = g.mm(g.input("x", SHAPE), g.input("y", SHAPE))
    mapped = g.item(g.control_flow(MAP, [body], [xs], [], shapes=[SHAPE]), 0)
    graph = g.output(mapped)
    plan_memory(graph)
    over(piece, xs)
    with pytest.raises(PlanError, match="map_impl .* reads mm_out at .* holds piece, not mm_out"):
        replay_plan(graph)


def test_a_view_with_larger_bounds_than_its_base_reads_its_base(builder: Any) -> None:
    g = builder()
    x = g.input("x", SHAPE)
    a = g.mm(x, x)
    flat = g.view(a, [300])
    b = g.relu(flat)
    for node in (a, flat, b):
        meta.get_spec(node).shape_dynamism = TensorShapeDynamism.DYNAMIC_BOUND
    graph = g.output(b)
    assert plan_memory(graph).in_place == 1
    assert meta.get_spec(b).mem_offset == meta.get_spec(a).mem_offset
