"""Pass managers accept plain functions, and refuse nodes that no dialect allows."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch._export.verifier import SpecViolationError
from torch.export import Dim, export
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassResult
from torch.fx.passes.infra.pass_manager import this_before_that_pass_constraint

from rushlight.exir import to_edge
from rushlight.ir.edge_ops import ops
from rushlight.ir.errors import PassError
from rushlight.ir.fake import Evaluator
from rushlight.passes.base import GraphPass, insert_call
from rushlight.passes.export_pass import ExportPass, ExportPassBaseError, NodeMetadata, ProxyValue
from rushlight.passes.pass_manager import ExportedProgramPassManager, PassManager


class Add(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.add(torch.add(x, x), x)


@pytest.fixture
def module() -> GraphModule:
    batch = Dim("batch", max=8)
    program = export(Add(), (torch.randn(2, 3),), dynamic_shapes=({0: batch},))
    return to_edge(program).exported_program().graph_module


def targets(module: GraphModule) -> list[object]:
    return [node.target for node in module.graph.nodes if node.op == "call_function"]


def test_functions_that_return_nothing(module: GraphModule) -> None:
    def to_mul(graph_module: GraphModule) -> None:
        for node in graph_module.graph.nodes:
            if node.op == "call_function":
                node.target = torch.mul

    def to_div(graph_module: GraphModule) -> None:
        for node in graph_module.graph.nodes:
            if node.target is torch.mul:
                node.target = torch.div

    manager = PassManager([to_mul, [to_div]])  # type: ignore[arg-type]
    assert len(manager.passes) == 2
    result = manager(module)
    assert result.modified and targets(result.graph_module) == [torch.div] * 2


def test_calls_of_methods_are_refused(module: GraphModule) -> None:
    def add_relu(graph_module: GraphModule) -> None:
        last = next(node for node in graph_module.graph.nodes if node.op == "output")
        with graph_module.graph.inserting_before(last):
            graph_module.graph.call_method("relu", (last.args[0][0],))

    with pytest.raises(Exception, match="add_relu") as error:
        PassManager([add_relu], run_checks_after_each_pass=True)(module)  # type: ignore[arg-type]
    assert "call_method of relu" in str(error.value.__cause__)


def test_calls_of_methods_are_refused_in_programs() -> None:
    def add_relu(graph_module: GraphModule) -> PassResult:
        output = graph_module.graph.output_node()
        with graph_module.graph.inserting_before(output):
            relu = graph_module.graph.call_method("relu", (output.args[0][0],))  # type: ignore[index]
        output.args = ((relu,),)
        return PassResult(graph_module, True)

    program = to_edge(export(Add(), (torch.ones(2, 3),))).exported_program()
    with pytest.raises(PassError, match="call_method of relu"):
        ExportedProgramPassManager([add_relu])(program)


class Collapse(ExportPass):
    """Replaces symbolic sizes by numbers."""

    preserve = True

    def should_preserve_symbolic_input_metadata(self) -> bool:
        return self.preserve

    def placeholder(self, name: str, arg: torch.Tensor, meta: NodeMetadata) -> ProxyValue:
        proxy = super().placeholder(name, arg, meta)
        proxy.node.meta["val"] = torch.empty(2, 3, device="meta")
        return proxy


def test_symbolic_sizes_of_inputs_are_kept(module: GraphModule) -> None:
    collapse = Collapse()
    with pytest.raises(ExportPassBaseError, match="Input at position 0 did not preserve symbolic metadata"):
        collapse(module)
    collapse.preserve = False
    (changed,) = collapse(module).graph_module.graph.find_nodes(op="placeholder")  # type: ignore[union-attr]
    assert changed.meta["val"].shape == (2, 3)


@pytest.mark.parametrize(("use", "message"), [(bool, "boolean context"), (int, "converted to int")])
def test_symbols_are_no_numbers(module: GraphModule, use: type, message: str) -> None:
    node = next(iter(module.graph.nodes))
    size = node.meta["val"].shape[0]
    with pytest.raises(ExportPassBaseError, match=message):
        use(ProxyValue(size, node))
    with pytest.raises(ExportPassBaseError, match="used in index context"):
        [0][ProxyValue(size, node)]


class ReplaceLastPass(GraphPass):
    def rewrite(self, module: GraphModule) -> bool:
        results: Any = module.graph.output_node().args[0]
        last = results[0]
        if not isinstance(last, Node) or last.target is not ops.edge.aten.add.Tensor:
            return False
        evaluator = Evaluator.of(module)
        last.replace_all_uses_with(insert_call(evaluator, last, ops.edge.aten.mul.Tensor, last.args))
        return True


def test_the_signature_names_an_output_that_a_pass_over_graphs_replaced() -> None:
    program = to_edge(export(Add(), (torch.randn(2, 3),))).exported_program()
    result = ExportedProgramPassManager([ReplaceLastPass()])(program)
    assert result.modified and result.exported_program.graph_signature.user_outputs == ("aten_mul_tensor",)
    assert program.graph_signature.user_outputs != ("aten_mul_tensor",)


def test_checks_after_each_pass_find_the_pass() -> None:
    """Without them, a later pass may repair the program before its verifier runs."""

    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + x

    program = to_edge(torch.export.export(Model(), (torch.ones(2),))).exported_program()

    def rename(old: Any, new: Any) -> Any:
        def change(module: GraphModule) -> PassResult:
            for node in module.graph.nodes:
                if node.target is old:
                    node.target = new
            return PassResult(module, True)

        return change

    edge, plain = ops.edge.aten.add.Tensor, torch.ops.aten.add.Tensor
    passes = [rename(edge, plain), rename(plain, edge)]
    ExportedProgramPassManager(passes)(program)
    with pytest.raises(SpecViolationError):
        ExportedProgramPassManager(passes, run_checks_after_each_pass=True)(program)


def test_constraints_sort_the_passes() -> None:
    order: list[str] = []

    class First(GraphPass):
        def rewrite(self, module: GraphModule) -> bool:
            order.append("first")
            return False

    class Second(GraphPass):
        def rewrite(self, module: GraphModule) -> bool:
            order.append("second")
            return False

    first, second = First(), Second()
    program = to_edge(export(Add(), (torch.randn(2, 3),))).exported_program()
    before = this_before_that_pass_constraint(first, second)
    ExportedProgramPassManager([second, first], [before])(program)
    assert order == ["first", "second"]
    both = [before, this_before_that_pass_constraint(second, first)]
    with pytest.raises(RuntimeError, match="Circular dependency"):
        ExportedProgramPassManager([first, second], both)(program)
