"""The runner checks passes, names them in errors, and preserves metadata for later stages."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.passes.support import calls, edge_of
from torch.export import Dim, ExportedProgram, export
from torch.fx import Graph, GraphModule
from torch.fx.passes.infra.pass_base import PassBase, PassResult

from rushlight.compiler.edge import to_edge
from rushlight.ir import meta
from rushlight.ir.edge_ops import ops
from rushlight.ir.errors import PassError, VerificationError
from rushlight.ir.facts import facts_of
from rushlight.ir.fingerprint import fingerprint, first_difference
from rushlight.passes import runner
from rushlight.passes.base import AnyPass, GraphPass, ProgramPass, name_of
from rushlight.passes.program_pass import ExportedProgramPassBase, ExportedProgramPassResult
from rushlight.passes.runner import CHECK, PRINT, run_passes
from rushlight.runtime import Runtime


class ReluToNeg(GraphPass):
    def rewrite(self, module: GraphModule) -> bool:
        found = [node for node in module.graph.nodes if node.target is ops.edge.aten.relu.default]
        for node in found:
            node.target = ops.edge.aten.neg.default
        return bool(found)


class Impure(ReluToNeg):
    """Changes its argument."""

    def call(self, graph_module: GraphModule) -> PassResult:
        return PassResult(graph_module, self.rewrite_all(graph_module))


class ImpureProgramPass(ProgramPass):
    def call(self, exported_program: ExportedProgram) -> ExportedProgramPassResult:
        ReluToNeg().rewrite(exported_program.graph_module)
        return ExportedProgramPassResult(exported_program, False)

    def rewrite(self, program: ExportedProgram) -> bool:
        return False


@pytest.fixture
def relu() -> ExportedProgram:
    return edge_of(torch.nn.ReLU(), torch.ones(2))


@pytest.mark.parametrize("thorough", ["", "1"])
def test_the_given_program_stays(
    relu: ExportedProgram, thorough: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CHECK, thorough)
    before = fingerprint(relu)
    result = run_passes(relu, [ReluToNeg()])
    assert result.modified and calls(result.exported_program.graph_module) == ["neg.default"]
    assert first_difference(before, fingerprint(relu)) is None
    again = run_passes(result.exported_program, [ReluToNeg()])
    assert not again.modified and again.exported_program is result.exported_program


def test_passes_of_users_may_change_their_copy(relu: ExportedProgram) -> None:
    result = run_passes(relu, [Impure()])
    assert result.modified and calls(result.exported_program.graph_module) == ["neg.default"]
    assert calls(relu.graph_module) == ["relu.default"]


def test_passes_that_were_made_with_the_program_see_its_graph(relu: ExportedProgram) -> None:
    class Named(PassBase):
        def __init__(self, exported_program: ExportedProgram) -> None:
            super().__init__()
            self.exported_program = exported_program

        def call(self, graph_module: GraphModule) -> PassResult:
            assert graph_module is self.exported_program.graph_module
            return PassResult(graph_module, ReluToNeg().rewrite(self.exported_program.graph_module))

    result = run_passes(relu, [Named(relu)])
    assert calls(result.exported_program.graph_module) == calls(relu.graph_module) == ["neg.default"]


def test_changes_that_a_pass_does_not_report_are_found(relu: ExportedProgram) -> None:
    def silent(module: GraphModule) -> PassResult:
        ReluToNeg().rewrite(module)
        return PassResult(module, False)

    result = run_passes(relu, [silent])
    assert result.modified and calls(result.exported_program.graph_module) == ["neg.default"]


def test_a_pass_that_changes_what_it_is_given_is_named(
    relu: ExportedProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CHECK, "1")
    with pytest.raises(PassError, match="ImpureProgramPass changed the program that it was given: node 1"):
        run_passes(relu, [ImpureProgramPass()])


def test_a_pass_that_returns_nothing_is_named(relu: ExportedProgram) -> None:
    def forgetful(module: GraphModule) -> None:
        return None

    with pytest.raises(PassError, match="forgetful returned None"):
        run_passes(relu, [forgetful])


def test_a_pass_that_raises_an_error_is_named(relu: ExportedProgram) -> None:
    def divide(module: GraphModule) -> PassResult:
        raise ZeroDivisionError("no ones")

    named = r"divide raised ZeroDivisionError: no ones \(it ran after to_neg\)"
    with pytest.raises(PassError, match=named) as caught:
        run_passes(relu, [to_neg, divide])
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_pass_for_executorch_may_return_nothing(
    relu: ExportedProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    def replace(module: GraphModule) -> None:
        (node,) = module.graph.find_nodes(op="call_function", target=ops.edge.aten.relu.default)
        node.target = ops.edge.aten.tanh.default

    monkeypatch.setattr(runner, "stands_for_executorch", lambda: True)
    result = run_passes(relu, [replace])
    assert result.modified
    targets = [node.target for node in result.exported_program.graph.nodes if node.op == "call_function"]
    assert targets == [ops.edge.aten.tanh.default]


def test_an_invalid_graph_is_refused_with_the_name_of_the_pass(relu: ExportedProgram) -> None:
    def upside_down(module: GraphModule) -> PassResult:
        (first,) = module.graph.find_nodes(op="placeholder")
        (node,) = module.graph.find_nodes(op="call_function", target=ops.edge.aten.relu.default)
        first.prepend(node)
        return PassResult(module, True)

    with pytest.raises(PassError, match="upside_down made an invalid graph"):
        run_passes(relu, [upside_down])


def to_neg(module: GraphModule) -> PassResult:
    """A pass of a user, which rewrites the graph in place."""
    (node,) = module.graph.find_nodes(op="call_function", target=ops.edge.aten.relu.default)
    node.target = ops.edge.aten.neg.default
    return PassResult(module, True)


@pytest.mark.parametrize("thorough", ["0", "1"])
@pytest.mark.parametrize("item", [ReluToNeg(), to_neg], ids=["compiler", "user"])
def test_the_dialect_is_verified_after_each_pass(
    relu: ExportedProgram, monkeypatch: pytest.MonkeyPatch, item: AnyPass, thorough: str
) -> None:
    def refuse(module: GraphModule) -> None:
        raise VerificationError("no neg here")

    monkeypatch.setenv(CHECK, thorough)
    named = f"{name_of(item)} made a graph that violates the rules.*\n.*no neg here"
    with pytest.raises(PassError, match=named):
        run_passes(relu, [item], verify=refuse)


@pytest.mark.parametrize(("names", "printed"), [("ReluToNeg", True), ("all", True), ("Other", False)])
def test_graphs_are_printed_before_and_after(
    relu: ExportedProgram,
    names: str,
    printed: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(PRINT, names)
    run_passes(relu, [ReluToNeg()])
    text = capsys.readouterr().err
    before, _, after = text.partition("== after ReluToNeg: modified\n")
    assert ("== before ReluToNeg\n" in before and "aten.relu.default" in before) is printed
    assert ("aten.neg.default" in after) is printed


class Sizes(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        torch._check(x.shape[0] <= y.shape[0])  # the check
        return x.sum() + y[: x.shape[0]].sum()


@pytest.fixture
def related() -> ExportedProgram:
    shapes = ({0: Dim.DYNAMIC}, {0: Dim.DYNAMIC})
    program = export(Sizes(), (torch.randn(3, 2), torch.randn(5, 2)), dynamic_shapes=shapes)
    return to_edge(program).exported_program()


def fresh(module: GraphModule, values: dict[str, Any] | None = None) -> PassResult:
    """Returns the same graph without metadata. `values` are the values of the inputs."""
    graph = Graph()
    mapping: dict[Any, Any] = {}
    for node in module.graph.nodes:
        mapping[node] = new = graph.node_copy(node, mapping.__getitem__)
        new.meta = {"val": (values or {}).get(node.name, node.meta.get("val"))}
    return PassResult(GraphModule(module, graph), True)


def test_relations_survive_a_pass_that_returns_a_fresh_module(related: ExportedProgram) -> None:
    def renew(module: GraphModule) -> PassResult:
        return fresh(module)

    def renew_program(program: ExportedProgram) -> ExportedProgram:
        return ExportedProgram(
            root=program.graph_module,
            graph=program.graph,
            graph_signature=program.graph_signature,
            state_dict=program.state_dict,
            range_constraints=program.range_constraints,
            module_call_graph=program.module_call_graph,
            constants=program.constants,
            verifiers=[program.verifier],
        )

    class RenewProgram(ExportedProgramPassBase):
        def call(self, exported_program: ExportedProgram) -> ExportedProgramPassResult:
            return ExportedProgramPassResult(renew_program(exported_program), True)

    relations = facts_of(related).relations
    assert relations
    for item in (renew, RenewProgram()):
        result = run_passes(related, [item])
        assert facts_of(result.exported_program).relations == relations


def test_relations_that_a_pass_loses_are_named(related: ExportedProgram) -> None:
    def retrace(module: GraphModule) -> PassResult:
        shapes = ({0: Dim.DYNAMIC}, {0: Dim.DYNAMIC})
        other = export(Sizes(), (torch.randn(7, 2), torch.randn(9, 2)), dynamic_shapes=shapes)
        inputs = {node.name: meta.get_val(node) for node in other.graph.find_nodes(op="placeholder")}
        moved = {name: Other.of(value) for name, value in inputs.items()}
        return fresh(module, moved)

    class Other:
        """Returns values with other symbols."""

        @staticmethod
        def of(value: torch.Tensor) -> torch.Tensor:
            environment: Any = value.shape[0].node.shape_env  # type: ignore[attr-defined]
            symbol = environment.create_unbacked_symint()
            with value.fake_mode:  # type: ignore[attr-defined]
                return torch.empty(symbol, 2)

    with pytest.raises(
        PassError, match=r"retrace removed information that later stages need: the run-time check .*<="
    ):
        run_passes(related, [retrace])


def test_marks_of_a_pass_are_facts_from_then_on(relu: ExportedProgram) -> None:
    program = edge_of(torch.nn.Linear(3, 2), torch.ones(1, 3))

    def mark(module: GraphModule) -> PassResult:
        for node in module.graph.find_nodes(op="placeholder"):
            meta.set_constant_tag(node, "weights")
        return PassResult(module, True)

    def renew(module: GraphModule) -> PassResult:
        return fresh(module)

    result = run_passes(program, [mark, renew])
    assert facts_of(result.exported_program).constant_files == {"weight": "weights", "bias": "weights"}


def add_square(module: GraphModule) -> None:
    """Squares the result of a graph with a node without a value, as passes of users do."""
    output = module.graph.output_node()
    results: Any = output.args[0]
    [result] = results
    with module.graph.inserting_before(output):
        square = module.graph.call_function(ops.edge.aten.mul.Tensor, (result, result))
    output.args = ((square,),)


def test_values_that_a_pass_of_the_user_left_out_are_computed(relu: ExportedProgram) -> None:
    def square(module: GraphModule) -> PassResult:
        add_square(module)
        return PassResult(module, True)

    program = run_passes(relu, [square, ReluToNeg()]).exported_program
    [result] = program.graph.output_node().all_input_nodes
    assert calls(program.graph_module) == ["neg.default", "mul.Tensor"]
    assert tuple(meta.get_val(result).shape) == (2,)


def test_values_are_computed_for_graphs_that_the_user_changed_in_place() -> None:
    manager = to_edge(export(torch.nn.Linear(3, 2), (torch.ones(1, 3),)))
    program = manager.exported_program()
    add_square(program.graph_module)
    inputs = torch.randn(1, 3)
    [spec] = program.graph_signature.output_specs
    spec.arg.name = program.graph.output_node().all_input_nodes[0].name
    method = Runtime.get().load_program(manager.to_executorch().buffer).load_method("forward")
    assert method is not None
    [result] = method.execute([inputs])
    weight, bias = program.state_dict["weight"], program.state_dict["bias"]
    torch.testing.assert_close(result, (inputs @ weight.T + bias) ** 2)
