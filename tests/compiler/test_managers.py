"""to_edge, the managers, and their options."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

from rushlight.compiler import (
    EdgeCompileConfig,
    EdgeProgramManager,
    ExecutorchBackendConfig,
    ExecutorchProgramManager,
    to_edge,
    to_edge_transform_and_lower,
)
from rushlight.format.pte import read_pte
from rushlight.ir.errors import ExportError
from rushlight.ir.verifier import DialectError
from rushlight.memory.planning_pass import MemoryPlanningPass
from rushlight.passes.sym_shapes import HintBasedSymShapeEvalPass


class Add(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y


@pytest.fixture(scope="module")
def add() -> Any:
    return torch.export.export(Add(), (torch.ones(1), torch.ones(1)))


def test_the_sample(add: Any, tmp_path: Path) -> None:
    program = to_edge(add).to_executorch()
    assert isinstance(program, ExecutorchProgramManager)
    with open(tmp_path / "add.pte", "wb") as file:
        file.write(program.buffer)
    assert (tmp_path / "add.pte").read_bytes()[4:8] == b"ET12"


def test_one_method_is_forward(add: Any) -> None:
    manager = to_edge(add)
    assert manager.methods == {"forward"} and manager.config_methods == set()
    assert manager.exported_program() is manager.exported_program("forward")
    assert manager.to_executorch().methods == {"forward"}
    with pytest.raises(KeyError, match="no method 'backward'; there are \\['forward'\\]"):
        manager.exported_program("backward")


def test_several_methods_and_constant_methods(add: Any, export_case: Any) -> None:
    manager = to_edge(
        {"add": add, "net": export_case("digits_cnn")}, constant_methods={"size": 3, "name": "x"}
    )
    program = manager.to_executorch()
    assert program.methods == {"add", "net"} and program.config_methods == {"size", "name"}
    plans = [plan.name for plan in program.executorch_program.execution_plan]
    assert plans == ["add", "net", "size", "name"]
    assert [plan.name for plan in read_pte(program.buffer).program.execution_plan] == plans
    assert set(program.debug_handle_map) == {"add", "net"} == set(program.delegate_map)


def test_shared_weights_are_stored_once(export_case: Any) -> None:
    one = to_edge({"a": export_case("digits_cnn")}).to_executorch()
    two = to_edge({"a": export_case("digits_cnn"), "b": export_case("digits_cnn")}).to_executorch()
    assert len(two.buffer) < 1.3 * len(one.buffer)


def test_compiling_is_deterministic_and_leaves_its_input(export_case: Any) -> None:
    program = export_case("digits_cnn")
    before = str(program.graph)
    manager = to_edge(program)
    assert manager.to_executorch().buffer == manager.to_executorch().buffer
    assert manager.to_executorch().buffer == to_edge(program).to_executorch().buffer
    assert str(program.graph) == before


@pytest.mark.parametrize("programs", [None, Add(), {}, {"forward": Add()}, {3: None}])
def test_what_is_no_program_is_refused(programs: Any) -> None:
    with pytest.raises(ExportError, match="ExportedProgram|at least one method"):
        to_edge(programs)


def test_operators_outside_the_dialect_are_named() -> None:
    class Pool(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.adaptive_max_pool2d(x, 2)

    program = torch.export.export(Pool(), (torch.randn(1, 1, 4, 4),))
    with pytest.raises(DialectError, match="adaptive_max_pool2d.default is not in Core ATen opset") as error:
        to_edge(program)
    assert "test_managers.py:" in str(error.value)
    op = torch.ops.aten.adaptive_max_pool2d.default
    for config in (
        EdgeCompileConfig(_core_aten_ops_exception_list=[op]),
        EdgeCompileConfig(_check_ir_validity=False),
    ):
        edge = to_edge(program, compile_config=config).exported_program()
        assert any("adaptive_max_pool2d" in node.name for node in edge.graph.nodes)


def test_preserved_operators_reach_the_edge_program(export_case: Any) -> None:
    op = torch.ops.aten.linear.default
    config = EdgeCompileConfig(preserve_ops=[op])
    for convert in (to_edge, to_edge_transform_and_lower):
        edge = convert(export_case("linear"), compile_config=config).exported_program()
        assert sum(node.name.startswith("aten_linear") for node in edge.graph.nodes) == 3


def test_files(export_case: Any, tmp_path: Path) -> None:
    program = to_edge(export_case("digits_cnn")).to_executorch()
    stream = io.BytesIO()
    program.write_to_file(stream)
    assert stream.getvalue() == program.buffer
    program.save(str(tmp_path / "net.pte"))
    assert (tmp_path / "net.pte").read_bytes() == program.buffer
    with pytest.raises(ValueError, match="does not end with .pte"):
        program.save(str(tmp_path / "net.bin"))
    with pytest.raises(OSError):
        program.save(tmp_path / "nowhere" / "net.pte")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net.pte"]


def test_external_constants(export_case: Any, tmp_path: Path) -> None:
    config = ExecutorchBackendConfig(external_constants=True)
    program = to_edge(export_case("digits_cnn")).to_executorch(config)
    assert list(program.data_files) == ["_default_external_constant"]
    program.write_tensor_data_to_file(tmp_path)
    written = (tmp_path / "_default_external_constant.ptd").read_bytes()
    assert written == program.data_files["_default_external_constant"]
    assert len(program.buffer) < len(written)
    named = ExecutorchBackendConfig(
        external_constants=lambda node: "head.ptd" if "head" in node.name else None
    )
    program = to_edge(export_case("digits_cnn")).to_executorch(named)
    assert list(program.data_files) == ["head.ptd"]
    program.write_tensor_data_to_file(tmp_path)
    assert (tmp_path / "head.ptd").exists()


def test_options_by_method(export_case: Any) -> None:
    manager = to_edge({"a": export_case("dynamic_batch"), "b": export_case("dynamic_batch")})
    config = ExecutorchBackendConfig(
        sym_shape_eval_pass={"b": HintBasedSymShapeEvalPass()},
        memory_planning_pass={"a": MemoryPlanningPass(alloc_graph_input=False)},
    )
    plans = {plan.name: plan for plan in manager.to_executorch(config).executorch_program.execution_plan}
    inputs = {name: plan.values[plan.inputs[0]].val for name, plan in plans.items()}
    assert inputs["a"].sizes == [16, 4] and inputs["b"].sizes == [3, 4]  # type: ignore[union-attr]
    assert inputs["a"].allocation_info is None and inputs["b"].allocation_info is not None  # type: ignore[union-attr]


def test_passes_of_the_backend_config_run_first(export_case: Any) -> None:
    from torch.fx.passes.infra.pass_base import PassResult

    seen = []

    def look(module: Any) -> Any:
        seen.append([node.target.__name__ for node in module.graph.nodes if node.op == "call_function"])
        return PassResult(module, False)

    to_edge(export_case("add")).to_executorch(ExecutorchBackendConfig(passes=[look]))
    assert seen == [["aten.add.Tensor"]]


def test_views_may_stay_copies(export_case: Any) -> None:
    manager = to_edge(export_case("digits_cnn"))
    for remove, expected in ((True, False), (False, True)):
        plan = manager.to_executorch(
            ExecutorchBackendConfig(remove_view_copy=remove)
        ).executorch_program.execution_plan[0]
        assert any(operator.name == "aten::view_copy" for operator in plan.operators) is expected


def test_without_optimisation_the_graph_stays_as_it_is(export_case: Any) -> None:
    manager = to_edge(export_case("conv_bn"))
    names = {
        optimize: {
            operator.name
            for operator in manager.to_executorch(ExecutorchBackendConfig(optimize=optimize))
            .executorch_program.execution_plan[0]
            .operators
        }
        for optimize in (True, False)
    }
    norm = "aten::_native_batch_norm_legit_no_training"
    assert norm in names[False] and norm not in names[True]


def test_an_etrecord_is_made_when_asked_for(add: Any) -> None:
    for way in (to_edge, to_edge_transform_and_lower):
        record = way(add, generate_etrecord=True).to_executorch().get_etrecord()
        assert record.export_graph_id == id(add.graph)
        assert record.handles_of("forward")
        with pytest.raises(RuntimeError, match="ETRecord was not generated"):
            way(add).to_executorch().get_etrecord()


def test_a_manager_of_given_programs_verifies_them(add: Any) -> None:
    manager = EdgeProgramManager(to_edge(add).exported_program())
    assert manager.methods == {"forward"}
    with pytest.raises(DialectError, match="is not an Edge operator"):
        EdgeProgramManager({"forward": add})


def test_planned_graphs_compute_what_the_module_does(case: Any) -> None:
    """In eager mode, with memory as separate tensors."""
    if case.name in STATEFUL or case.name in DATA_DEPENDENT:
        return
    manager = to_edge(case.export())
    program = manager.to_executorch().exported_program()
    tensors = [
        program.state_dict.get(spec.target, program.constants.get(spec.target))
        for spec in program.graph_signature.input_specs
        if spec.kind.name != "USER_INPUT"
    ]
    inputs = pytree.tree_leaves((case.inputs(), case.kwargs))
    torch.manual_seed(0)
    expected = pytree.tree_leaves(case.make().eval()(*case.inputs(), **case.kwargs))
    with torch.no_grad():
        actual = pytree.tree_leaves(program.graph_module(*tensors, *inputs))
    for want, got in zip(expected, actual, strict=True):
        if isinstance(want, torch.Tensor):
            torch.testing.assert_close(got, want, equal_nan=True, rtol=1e-4, atol=1e-5)
        else:
            assert got == want


STATEFUL = ("counter", "kv_cache", "input_mutation")
DATA_DEPENDENT = ("data_dependent", "item")


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"dynamic_memory_planning_mode": None}, "dynamic_memory_planning_mode=None is not supported"),
    ],
)
def test_an_option_without_effect_is_refused(export_case: Any, option: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        to_edge(export_case("add")).to_executorch(ExecutorchBackendConfig(**option))


def test_constants_are_folded_where_a_config_asks_for_propagation() -> None:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = torch.nn.Parameter(torch.ones(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.w.exp()

    def operators(**options: Any) -> list[str]:
        edge = to_edge(torch.export.export(Net(), (torch.ones(3),)))
        program = edge.to_executorch(ExecutorchBackendConfig(**options)).executorch_program
        return [operator.name for operator in program.execution_plan[0].operators]

    assert "aten::exp" in operators(optimize=False)
    assert "aten::exp" not in operators(optimize=False, do_quant_fusion_and_const_prop=True)
