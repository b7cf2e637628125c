"""ExportPass in the form in which users write it."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from rushlight.compiler.edge import to_edge
from rushlight.ir.edge_ops import ops
from rushlight.ir.errors import PassError
from rushlight.passes.base import AnyPass
from rushlight.passes.export_pass import ExportPass, ExportPassBaseError, NodeMetadata, map_args
from rushlight.passes.pass_manager import ExportedProgramPassManager, PassManager
from rushlight.passes.program_pass import ExportedProgramPassBase, ExportedProgramPassResult


class ReluToClamp(ExportPass):
    def call_operator(self, op: Any, args: Any, kwargs: Any, meta: Any) -> Any:
        if op != ops.edge.aten.relu.default:
            return super().call_operator(op, args, kwargs, meta)
        assert args[0].is_tensor() and args[0].to_tensor().dim() > 0
        return super().call_operator(ops.edge.aten.clamp.default, (args[0], 0), {}, meta)


class AddConstant(ExportPass):
    def call_operator(self, op: Any, args: Any, kwargs: Any, meta: Any) -> Any:
        result = super().call_operator(op, args, kwargs, meta)
        if op != ops.edge.aten.relu.default:
            return result
        return super().call_operator(ops.edge.aten.add.Tensor, (result, torch.tensor(2.0)), {}, meta)


def names(program: Any) -> Any:
    return [node.target.__name__ for node in program.graph.nodes if node.op == "call_function"]


def rebuilt(export_pass: ExportPass, program: Any) -> Any:
    result = export_pass(program.graph_module)
    assert result is not None
    return result.graph_module.graph


def test_an_empty_pass_rebuilds_the_same_graph(program: Any) -> None:
    manager = to_edge(program)
    again = manager.transform([ExportPass()])
    assert again.exported_program().graph_module.code == manager.exported_program().graph_module.code
    again.to_executorch()


def test_operators_are_replaced(export_case: Any) -> None:
    manager = to_edge(export_case("digits_cnn"))
    program = manager.transform([ReluToClamp()]).exported_program()
    assert "aten.relu.default" not in names(program) and names(program).count("aten.clamp.default") == 2
    assert "aten.relu.default" in names(manager.exported_program())
    x = torch.randn(1, 1, 8, 8)
    torch.testing.assert_close(program.module()(x), manager.exported_program().module()(x))
    clamp = next(node for node in program.graph.nodes if "clamp" in node.name)
    assert "programs.py" in clamp.meta["stack_trace"] and clamp.meta["debug_handle"] > 0


def test_constants_become_attributes_of_the_graph(export_case: Any) -> None:
    manager = to_edge(export_case("digits_cnn"))
    program = manager.transform([AddConstant()]).exported_program()
    assert sum(node.op == "get_attr" for node in program.graph.nodes) == 2
    x = torch.randn(1, 1, 8, 8)
    manager.transform([AddConstant()]).to_executorch()
    assert not torch.equal(program.module()(x), manager.exported_program().module()(x))


def test_new_nodes_have_the_history_of_the_visited_node(export_case: Any) -> None:
    class AddWithoutMetadata(ExportPass):
        def call_operator(self, op: Any, args: Any, kwargs: Any, meta: Any) -> Any:
            meta["delegation_tag"] = "tag"
            result = super().call_operator(op, args, kwargs, meta)
            added = (result, torch.tensor(2.0))
            empty = NodeMetadata({})
            return (
                super().call_operator(ops.edge.aten.add.Tensor, added, {}, empty)
                if "relu" in str(op)
                else result
            )

    exported = export_case("digits_cnn")
    graph = rebuilt(AddWithoutMetadata(), to_edge(exported).exported_program())
    add = next(node for node in graph.nodes if node.target is ops.edge.aten.add.Tensor)
    for node in (add, add.args[1]):
        for key in ("from_node", "origin", "stack_trace", "nn_module_stack", "torch_fn"):
            assert node.meta[key] == add.args[0].meta[key]
        assert "delegation_tag" not in node.meta and "debug_handle" not in node.meta
    first = next(node for node in rebuilt(ExportPass(), exported).nodes if node.op == "call_function")
    assert first.meta["from_node"][-1].name == first.name
    output = graph.output_node()
    assert output.meta["val"] == tuple(node.meta["val"] for node in output.args[0])


def test_bodies_of_control_flow_are_visited(export_case: Any) -> None:
    class SinToCos(ExportPass):
        def call_operator(self, op: Any, args: Any, kwargs: Any, meta: Any) -> Any:
            if op == ops.edge.aten.sin.default:
                op = ops.edge.aten.cos.default
            return super().call_operator(op, args, kwargs, meta)

    program = to_edge(export_case("cond")).transform([SinToCos()]).exported_program()
    assert "aten_sin_default" not in program.graph_module.submodule_0.code
    assert "aten_cos_default" in program.graph_module.submodule_0.code


def test_metadata_that_the_pass_keeps_cannot_be_set() -> None:
    data = NodeMetadata({"val": 1, "mine": 2})
    data["mine"] = 3
    assert data["mine"] == 3 and "val" in data and data.copy().data == data.data
    with pytest.raises(RuntimeError, match="Could not override node key: val"):
        data["val"] = 2


def test_changed_inputs_are_refused(export_case: Any) -> None:
    class Grow(ExportPass):
        def placeholder(self, name: Any, arg: Any, meta: Any) -> Any:
            return super().placeholder(name, torch.cat([arg, arg]), meta)

    with pytest.raises(PassError, match="Grow raised ExportPassBaseError: .* cannot change the input"):
        to_edge(export_case("add")).transform([Grow()])


def test_a_pass_must_be_initialised(export_case: Any) -> None:
    class Careless(ExportPass):
        def __init__(self) -> None:
            pass

    with pytest.raises(ExportPassBaseError, match="not initialized"):
        Careless().call(to_edge(export_case("add")).exported_program().graph_module)


def test_map_args() -> None:
    seen = []
    args, kwargs = map_args(
        torch.ops.aten.add.Tensor,
        lambda value, argument: seen.append(argument.name) or value,  # type: ignore[func-returns-value]
        (1, 2),
        {"alpha": 3},
    )
    assert (args, kwargs, seen) == ((1, 2), {"alpha": 3}, ["self", "other", "alpha"])


def test_transform_takes_functions_managers_and_methods(export_case: Any) -> None:
    def nothing(module: Any) -> Any:
        from torch.fx.passes.infra.pass_base import PassResult

        return PassResult(module, False)

    class Touch(ExportedProgramPassBase):
        def call(self, exported_program: Any) -> Any:
            exported_program.graph_module.meta["touched"] = True
            return ExportedProgramPassResult(exported_program, True)

    manager = to_edge({"a": export_case("digits_cnn"), "b": export_case("digits_cnn")})
    graph_passes: list[AnyPass] = [nothing, ReluToClamp()]
    for passes in (
        graph_passes,
        PassManager([ReluToClamp()]),  # type: ignore[arg-type]
        ExportedProgramPassManager([nothing, ReluToClamp(), Touch()]),
    ):
        changed = manager.transform(passes)
        assert all("aten.clamp.default" in names(changed.exported_program(name)) for name in "ab")
    changed = manager.transform({"b": [ReluToClamp()]})
    assert "aten.clamp.default" not in names(changed.exported_program("a"))
    assert "aten.clamp.default" in names(changed.exported_program("b"))
