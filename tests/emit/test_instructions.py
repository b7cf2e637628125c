"""The instructions that the emitter writes for calls, views and control flow."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch._higher_order_ops.while_loop import while_loop

from rushlight.compiler.edge import to_edge
from rushlight.emit.errors import EmitError, UnsupportedOperatorsError
from rushlight.emit.program import emit_program
from rushlight.format.program import (
    Bool,
    Int,
    IntList,
    JumpFalseCall,
    KernelCall,
    MoveCall,
    Null,
    OptionalTensorList,
    Tensor,
    TensorList,
    TensorShapeDynamism,
)
from rushlight.ir.errors import InternalError
from rushlight.target.kernel_table import host_kernel_table, parse_kernel_table


def plan_of(manager: Any, method: Any = "forward") -> Any:
    (plan,) = [p for p in manager.executorch_program.execution_plan if p.name == method]
    return plan


def listing(plan: Any) -> Any:
    """Returns (operator name, arguments) for kernel calls, and (kind, fields...) for other instructions."""
    lines = []
    for instruction in plan.chains[0].instructions:
        call = instruction.instr_args
        if isinstance(call, KernelCall):
            operator = plan.operators[call.op_index]
            lines.append((f"{operator.name}.{operator.overload}".rstrip("."), *call.args))
        else:
            lines.append((type(call).__name__, *vars(call).values()))
    return lines


def value(plan: Any, index: Any) -> Any:
    return plan.values[index].val


def test_defaults_are_filled_in_and_the_result_follows_the_out_tensor(lowered: Any) -> None:
    plan = plan_of(lowered("add"))
    x, y = plan.inputs
    (name, first, other, alpha, out, result), multiply = listing(plan)
    assert (name, first, other, out) == ("aten::add.out", x, y, result)
    assert value(plan, alpha) == Int(1)
    assert multiply[:3] == ("aten::mul.out", x, y)
    total, product, three = plan.outputs
    assert (total, product) == (result, multiply[-1]) and value(plan, three) == Int(3)


def test_several_results_are_listed_once_more(lowered: Any) -> None:
    plan = plan_of(lowered("many_outputs"))
    calls = {line[0]: line[1:] for line in listing(plan)}
    *_, parts, again = calls["aten::split_with_sizes_copy.out"]
    assert parts == again and len(value(plan, parts).items) == 2
    *_, values, indices, both = calls["aten::max.dim_max"]
    assert value(plan, both) == TensorList([values, indices])
    *_, out, mean, rstd, all_three = calls["aten::native_layer_norm.out"]
    assert value(plan, all_three) == TensorList([out, mean, rstd])
    (sizes,) = [value(plan, calls["aten::split_with_sizes_copy.out"][1])]
    assert isinstance(sizes, IntList) and [value(plan, i) for i in sizes.items] == [Int(2), Int(2)]


def test_missing_indices_are_minus_one(lowered: Any) -> None:
    plan = plan_of(lowered("indexed"))
    (call,) = [line for line in listing(plan) if line[0] == "aten::index.Tensor_out"]
    indices = value(plan, call[2])
    assert isinstance(indices, OptionalTensorList)
    assert indices.items[0] == -1 and isinstance(value(plan, indices.items[1]), Tensor)


def test_equal_weights_are_stored_once(lowered: Any) -> None:
    output = lowered("shared_weights")._emitter_output
    weights = {
        v.val.data_buffer_idx for v in output.program.execution_plan[0].values if isinstance(v.val, Tensor)
    }
    assert sorted(len(data) for data in output.pte.constants) == [0, 16, 64]
    assert weights == {0, 1, 2}


def test_a_view_of_known_place_needs_no_instruction(lower: Any) -> None:
    class Flatten(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu((x + x).reshape(-1))

    plan = plan_of(lower(Flatten(), (torch.ones(2, 3),)))
    assert [line[0] for line in listing(plan)] == ["aten::add.out", "aten::relu.out"]


def test_a_view_of_dynamic_shape_is_a_call(lowered: Any) -> None:
    plan = plan_of(lowered("reshaped"))
    calls = listing(plan)
    assert [line[0] for line in calls] == [
        "aten::sym_size.int",
        "executorch_prim::mul.Scalar",
        "executorch_prim::et_view.default",
        "aten::relu.out",
    ]
    size, double, view, _ = calls
    sizes = value(plan, view[2])
    assert sizes.items[0] == double[-1] and double[1] == size[-1]
    assert value(plan, view[3]).shape_dynamism == TensorShapeDynamism.DYNAMIC_BOUND
    assert value(plan, view[3]).sizes == [20, 2]
    assert plan.outputs[1] == size[-1]


def test_branches_are_jumps_and_moves(lowered: Any) -> None:
    plan = plan_of(lowered("branch"))
    lines = listing(plan)
    jumps = [i for i, line in enumerate(lines) if line[0] == "JumpFalseCall"]
    moves = [i for i, line in enumerate(lines) if line[0] == "MoveCall"]
    first, second = jumps
    assert lines[first][2] == second + 1 and lines[second][2] == len(lines)
    assert value(plan, lines[second][1]) == Bool(False)
    assert [lines[m][2] for m in moves] == plan.outputs * 2
    assert moves[0] == second - 1 and moves[1] == len(lines) - 1


def test_a_map_slices_runs_and_stacks(lowered: Any) -> None:
    plan = plan_of(lowered("mapped"))
    lines = listing(plan)
    names = [line[0] for line in lines[:8]]
    assert names == [
        "aten::sym_size.int",
        "aten::select_copy.int_out",
        "aten::add.out",
        "executorch_prim::et_copy_index.tensor",
        "executorch_prim::add.Scalar",
        "executorch_prim::eq.Scalar",
        "JumpFalseCall",
        "executorch_prim::sub.Scalar",
    ]
    index, count = lines[1][3], lines[0][-1]
    assert lines[3] == (names[3], lines[3][1], lines[2][-1], index)
    assert lines[4][1] == lines[4][3] == index and lines[7][1:] == (index, count, index)
    assert lines[6][1:] == (lines[5][-1], 1)
    assert value(plan, lines[3][1]).shape_dynamism == TensorShapeDynamism.DYNAMIC_BOUND


def test_a_loop_tests_runs_and_jumps_back(lowered: Any) -> None:
    plan = plan_of(lowered("looped"))
    lines = listing(plan)
    copies = [i for i, line in enumerate(lines) if line[0] == "aten::copy_"]
    jumps = [i for i, line in enumerate(lines) if line[0] == "JumpFalseCall"]
    assert copies[:2] == [0, 1] and len(copies) == 4
    leave, again = jumps
    assert lines[leave][2] == len(lines) and lines[again][2] == 2 and again == len(lines) - 1
    assert [lines[c][1] for c in copies] == plan.outputs * 2


def test_dynamic_carried_values_take_over_shapes(lowered: Any) -> None:
    names = [line[0] for line in listing(plan_of(lowered("looped_dynamic")))]
    assert names.count("aten::clone.out") == 2


def test_carried_scalars_are_moved(lowered: Any) -> None:
    plan = plan_of(lowered("looped_int"))
    moves = [line for line in listing(plan) if line[0] == "MoveCall"]
    assert {move[2] for move in moves} == {plan.outputs[0]}


@pytest.mark.parametrize("start, data", [(1.0, [0, 8]), (0.0, [])])
def test_initial_state_is_written_unless_it_is_zero(lower: Any, cases: Any, start: Any, data: Any) -> None:
    manager = lower(cases["counter"][0](start), (torch.ones(2),))
    output = manager._emitter_output
    assert [len(d) for d in output.pte.mutable_data] == data
    plan = plan_of(manager)
    (state,) = [v.val for v in plan.values[: plan.inputs[0]] if isinstance(v.val, Tensor)]
    assert state.allocation_info is not None and state.data_buffer_idx == len(data[1:])
    assert listing(plan)[-1][0] == "aten::copy_" and len(plan.outputs) == 1


def test_state_may_have_a_name(lower: Any, cases: Any) -> None:
    manager = lower(cases["counter"][0](), (torch.ones(2),), emit_mutable_buffer_names=True)
    names = [
        v.val.extra_tensor_info.fully_qualified_name
        for v in plan_of(manager).values
        if isinstance(v.val, Tensor) and v.val.extra_tensor_info is not None
    ]
    assert names == ["count"]


def test_every_call_has_a_debug_handle(lowered: Any) -> None:
    manager = lowered("many_outputs")
    calls = plan_of(manager).chains[0].instructions
    handles = manager.debug_handle_map["forward"]
    assert set(handles) == set(range(len(calls))) and None not in handles.values()


def test_stack_traces_are_given_when_asked_for(lower: Any, lowered: Any, cases: Any) -> None:
    make, args, _ = cases["many_outputs"]
    chain = plan_of(lower(make(), args, emit_stacktrace=True)).chains[0]
    assert len(chain.stacktrace) == len(chain.instructions)
    lines = {frame.context for frames in chain.stacktrace for frame in frames.items}
    assert any("torch.split(x, 2, dim=0)" in line for line in lines)
    assert plan_of(lowered("many_outputs")).chains[0].stacktrace is None


def test_external_constants_lie_outside(lower: Any, cases: Any) -> None:
    make, args, _ = cases["shared_weights"]
    manager = lower(make(), args, external_constants=True)
    output = manager._emitter_output
    assert output.pte.constants == [b""]
    ((tag, entries),) = output.external_constants.items()
    assert {"first.weight", "second.bias"} <= set(entries)
    assert entries["first.weight"].tensor_layout.sizes == [4, 4]
    named = [v.val for v in plan_of(manager).values if isinstance(v.val, Tensor) and v.val.extra_tensor_info]
    assert {t.extra_tensor_info.location.name for t in named} == {"EXTERNAL"}  # type: ignore[union-attr]


def test_what_the_target_lacks_is_one_table(lower: Any, cases: Any) -> None:
    make, args, _ = cases["many_outputs"]
    table = parse_kernel_table(
        "aten::split_with_sizes_copy.out\naten::cat.out float32\naten::max.dim_max int64,int32\n"
    )
    with pytest.raises(UnsupportedOperatorsError) as caught:
        lower(make(), args, target=table)
    refused = {r.operator: r for r in caught.value.refusals}
    assert set(refused) == {"aten::max.dim_max", "aten::native_layer_norm.out"}
    assert refused["aten::max.dim_max"].dtypes == "self: float32"
    assert refused["aten::max.dim_max"].help == "cast to one of int32, int64"
    assert "cases.py:" in refused["aten::native_layer_norm.out"].source
    assert "torch.max(a, dim=1)" in str(caught.value)


class Gather(torch.nn.Module):
    def forward(self, x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        return torch.gather(x, 0, rows)


def test_a_later_argument_that_no_kernel_takes_is_named(lower: Any) -> None:
    inputs = (torch.randn(3), torch.zeros(2, dtype=torch.int64))
    table = parse_kernel_table("aten::gather.out float32,float64 2:int32\naten::gather.out float16 2:int64\n")
    with pytest.raises(UnsupportedOperatorsError) as caught:
        lower(Gather(), inputs, target=table)
    (refusal,) = caught.value.refusals
    assert (refusal.operator, refusal.dtypes) == ("aten::gather.out", "index: int64")
    assert refusal.help == "cast to one of int32" and "return torch.gather(x, 0, rows)" in refusal.source
    lower(Gather(), inputs, target=parse_kernel_table("aten::gather.out float32 2:int64"))


class Pick(torch.nn.Module):
    def forward(self, x: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
        return x[rows, :, columns] + torch.cat([x[0, 0], x[1, 0]])[:2].unsqueeze(1)


def test_tensors_in_lists_are_checked(lower: Any) -> None:
    ints = torch.zeros(2, dtype=torch.int64)
    table = parse_kernel_table(
        "aten::index.Tensor_out float32 1:int32\naten::add.out\naten::cat.out float64\n"
    )
    with pytest.raises(UnsupportedOperatorsError) as caught:
        lower(Pick(), (torch.randn(2, 3, 4), ints, ints), target=table)
    refused = {r.operator: r.dtypes for r in caught.value.refusals}
    assert refused["aten::index.Tensor_out"] == "indices: int64"
    assert refused["aten::cat.out"] == "tensors: float32"


def test_a_sufficient_target_is_silent(lower: Any, lowered: Any, cases: Any) -> None:
    make, args, _ = cases["many_outputs"]
    names = {f"{o.name}.{o.overload}" for o in plan_of(lowered("many_outputs")).operators}
    lower(make(), args, target=parse_kernel_table("\n".join(f"{name} float32,int64" for name in names)))


def test_the_host_runs_every_case(lower: Any, cases: Any) -> None:
    for make, args, dynamic_shapes in cases.values():
        lower(make(), args, dynamic_shapes, target=host_kernel_table())


def test_methods_come_by_name_and_constant_methods_last(lower: Any, cases: Any) -> None:
    from rushlight.compiler.edge import to_edge

    exported = {
        name: torch.export.export(cases[case][0]().eval(), cases[case][1], strict=False)
        for name, case in [("zoom", "add"), ("again", "shared_weights"), ("forward", "shared_weights")]
    }
    edge = to_edge(exported, constant_methods={"version": 3, "names": ["a", (2.5, True)], "w": torch.ones(2)})
    manager = edge.to_executorch()
    plans = manager.executorch_program.execution_plan
    assert [plan.name for plan in plans] == ["again", "forward", "zoom", "version", "names", "w"]
    names = plans[4]
    assert [vars(v.val) for v in names.values] == [
        {"string_val": "a"},
        {"double_val": 2.5},
        {"bool_val": True},
    ]
    assert names.outputs == [0, 1, 2] and names.inputs == [] and names.non_const_buffer_sizes == [0]
    assert '"builtins.list"' in names.container_meta_type.encoded_out_str
    assert plans[5].values[0].val.data_buffer_idx > 0  # type: ignore[union-attr]


def test_an_unplanned_program_is_refused(cases: Any) -> None:
    program = torch.export.export(cases["add"][0](), cases["add"][1])
    with pytest.raises(EmitError, match="has no memory plan"):
        emit_program(program)


def test_constants_without_a_kind_are_named(lower: Any) -> None:
    with pytest.raises(EmitError, match="constant method 'z'.*complex"):
        emit_program({}, prim_getters={"z": 1j})


def test_scalar_outputs_are_values(lowered: Any) -> None:
    plan = plan_of(lowered("passed_through"))
    assert value(plan, plan.outputs[-1]) == Null()
    assert plan.outputs[:2] == plan.inputs


def test_jumps_stay_inside(lowered: Any, cases: Any) -> None:
    for name in cases:
        (plan,) = lowered(name).executorch_program.execution_plan
        instructions = plan.chains[0].instructions
        for instruction in instructions:
            call = instruction.instr_args
            if isinstance(call, JumpFalseCall):
                assert 0 <= call.destination_instruction <= len(instructions)
            elif isinstance(call, MoveCall):
                assert call.move_from != call.move_to


class Loop(torch.nn.Module):
    def forward(self, i: torch.Tensor, x: torch.Tensor) -> Any:
        return while_loop(lambda i, x: i < 4, lambda i, x: (i + 1, x + x), (i, x))


@pytest.mark.parametrize("kind", ["number", "two", "vector"])
def test_a_loop_needs_one_bool(kind: str) -> None:
    edge = to_edge(torch.export.export(Loop(), (torch.tensor(0), torch.ones(2))))
    module = edge.exported_program().graph_module
    loop = next(node for node in module.graph.nodes if node.target is torch.ops.higher_order.while_loop)
    body = getattr(module, loop.args[0].target)
    assert isinstance(body, torch.fx.GraphModule)
    (test,) = [node for node in body.graph.nodes if node.op == "call_function"]
    output = body.graph.output_node()
    if kind == "number":
        output.args = ([3],)
    elif kind == "two":
        output.args = ([test, test],)
    else:
        first, second = (node for node in body.graph.nodes if node.op == "placeholder")
        test.args = (second, 4)
        test.meta["val"] = second.meta["val"] < 4
    body.recompile()
    with pytest.raises((InternalError, ValueError), match="must return one bool|condition"):
        edge.to_executorch()


@torch.library.custom_op("emit_test::add_one_", mutates_args=("x",))
def add_one_(x: torch.Tensor) -> None:
    x.add_(1)


def test_custom_operators_that_change_an_argument_need_a_kernel() -> None:
    class Changes(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = x * 2
            torch.ops.emit_test.add_one_(y)
            return y

    edge = to_edge(torch.export.export(Changes(), (torch.ones(3),)))
    with pytest.raises(UnsupportedOperatorsError, match=r"emit_test\S*add_one_") as raised:
        edge.to_executorch()
    assert "test_instructions.py" in str(raised.value), "the message names the line of the model"
