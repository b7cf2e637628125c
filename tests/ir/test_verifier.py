"""One node violates each rule of each dialect."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch._export.verifier import SpecViolationError

from rushlight.compiler.config import EdgeCompileConfig
from rushlight.compiler.edge import to_edge
from rushlight.ir import meta
from rushlight.ir.dtype_rules import rule_of
from rushlight.ir.edge_ops import ops
from rushlight.ir.edge_ops import to_edge_op as edge_op
from rushlight.ir.errors import CompileError, ExportError
from rushlight.ir.verifier import ATEN, EDGE, RULES, DialectError, Options, edge_verifier, verify, violations

aten, edge = torch.ops.aten, ops.edge.aten
FLOAT = torch.empty(2, 2)
INT = torch.empty(2, 2, dtype=torch.int64)
CHANNELS_LAST = {"memory_format": torch.channels_last}

# (rule, dialect, operator, arguments by value, keyword arguments, message)
BROKEN: list[tuple[Any, ...]] = [
    (4, ATEN, aten.add_.Tensor, (FLOAT, FLOAT), {}, "writes its arguments"),
    (
        5,
        ATEN,
        aten.linear.default,
        (FLOAT, FLOAT),
        {},
        "torch.ops.aten.linear.default is not in Core ATen opset",
    ),
    (5, EDGE, edge.linear.default, (FLOAT, FLOAT), {}, "_core_aten_ops_exception_list"),
    (6, EDGE, aten.add.Tensor, (FLOAT, FLOAT), {}, "is not an Edge operator"),
    (7, EDGE, edge.clone.default, (FLOAT,), CHANNELS_LAST, "names layouts by dim order"),
    (8, EDGE, edge.add.Tensor, (FLOAT, 1), {}, "argument other is the number 1"),
    (9, EDGE, edge.mm.default, (FLOAT, INT), {}, "does not support self torch.float32, mat2 torch.int64"),
    (9, EDGE, edge.embedding.default, (FLOAT, FLOAT), {}, "argument indices is torch.float32"),
    (9, EDGE, edge.where.self, (FLOAT, FLOAT, FLOAT), {}, "argument condition is torch.float32"),
]


def test_a_clone_without_a_memory_format_keeps_the_dim_order() -> None:
    assert violations(module_of(edge.clone.default, (FLOAT,), {}), EDGE) == []


def graph_of(target: Any, args: Any, kwargs: Any, result: Any = FLOAT) -> Any:
    graph = torch.fx.Graph()

    def placeholder(value: Any) -> Any:
        node = graph.placeholder(f"x{len(graph.nodes)}")
        meta.set_val(node, value)
        return node

    nodes = torch.utils._pytree.tree_map_only(torch.Tensor, placeholder, args)
    node = graph.create_node("call_function", target, tuple(nodes), kwargs, name="guilty")
    if result is not None:
        meta.set_val(node, result)
    node.meta["stack_trace"] = '  File "/home/me/net.py", line 12, in forward\n    y = x + 1\n'
    graph.output((node,))
    module = torch.nn.Module()
    return torch.fx.GraphModule(module, torch.fx.Graph()), graph


def module_of(*args: Any, **kwargs: Any) -> Any:
    module, graph = graph_of(*args, **kwargs)
    module._graph = graph
    return module


@pytest.mark.parametrize(("number", "dialect", "target", "args", "kwargs", "text"), BROKEN)
def test_rules(number: Any, dialect: Any, target: Any, args: Any, kwargs: Any, text: str) -> None:
    found = violations(module_of(target, args, kwargs), dialect)
    assert [violation.rule.number for violation in found] == [number]
    message = str(found[0])
    assert text in message and "rule" not in message
    assert "node guilty" in message and "/home/me/net.py:12: y = x + 1" in message


def test_targets_must_be_callable() -> None:
    module = module_of(edge.relu.default, (FLOAT,), {})
    next(node for node in module.graph.nodes if node.name == "guilty").target = "no function"
    found = violations(module, EDGE)
    assert [violation.rule.number for violation in found] == [2] and "cannot be called" in str(found[0])


def test_values_are_required() -> None:
    module = module_of(edge.relu.default, (FLOAT,), {}, result=None)
    assert [violation.rule.number for violation in violations(module, EDGE)] == [3]


def test_nodes_of_other_kinds_are_refused() -> None:
    graph = torch.fx.Graph()
    graph.output(graph.call_method("relu", (graph.placeholder("x"),)))
    found = violations(torch.fx.GraphModule({}, graph), EDGE)
    assert [violation.rule.number for violation in found] == [1]


def test_exceptions_let_operators_through() -> None:
    module = module_of(edge.linear.default, (FLOAT, FLOAT), {})
    assert not violations(module, EDGE, Options(exceptions=frozenset({aten.linear.default})))
    assert not violations(module, EDGE, Options(preserve=frozenset({aten.linear.default})))
    clone = module_of(edge.clone.default, (FLOAT,), {})
    assert not violations(clone, EDGE, Options(dim_order=False))


def test_errors_are_of_both_trees() -> None:
    module = module_of(edge.linear.default, (FLOAT, FLOAT), {})
    for kind in (DialectError, ExportError, SpecViolationError):
        with pytest.raises(kind, match="on \\(float32, float32\\)"):
            verify(module, EDGE)
    assert not edge_verifier()().is_valid(module)  # type: ignore[attr-defined]
    assert edge_verifier(enabled=False)().is_valid(module)  # type: ignore[attr-defined]


def test_rules_are_numbered_in_order() -> None:
    assert [rule.number for rule in RULES] == list(range(1, len(RULES) + 1))


def test_every_row_of_the_dtype_table_is_of_an_operator() -> None:
    from rushlight.ir import dtype_rules

    for name, rule in dtype_rules._rules().items():
        packet, _, overload = name.removeprefix("aten::").partition(".")
        op = getattr(getattr(aten, packet), overload or "default")
        assert rule_of(op._schema) is rule
        constraint = edge_op(op)._schema.dtype_constraint
        assert set(constraint.type_constraint[0]) == {
            *constraint.essential_tensor_io_names,
            *constraint.optional_tensor_io_names,
        }, name


def test_bodies_of_control_flow_are_verified(export_case: Any) -> None:
    from rushlight.compiler.edge import to_edge

    module = to_edge(export_case("cond")).exported_program().graph_module
    body = module.submodule_0
    node = next(node for node in body.graph.nodes if node.op == "call_function")
    node.target = aten.sin.default
    assert [violation.node for violation in violations(module, EDGE)] == [node]


@pytest.mark.parametrize(
    ("left", "right", "legal"),
    [
        (torch.float32, torch.int64, True),
        (torch.bool, torch.uint8, True),
        (torch.uint16, torch.float32, True),
        (torch.uint16, torch.int32, False),
        (torch.complex64, torch.complex64, True),
    ],
)
def test_mixed_dtypes(left: torch.dtype, right: torch.dtype, legal: bool) -> None:
    """Sums of mixed dtypes are legal if torch promotes them. Kernels check complex dtypes."""
    result = torch.ones(2).to(torch.promote_types(left, right)) if legal else FLOAT
    module = module_of(edge.add.Tensor, (torch.ones(2).to(left), torch.ones(2).to(right)), {}, result)
    assert bool(violations(module, EDGE)) is not legal


def test_lists_of_several_dtypes_are_left_to_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """`cat` promotes dtypes. ExecuTorch checks only the first tensor of a list."""
    from rushlight.ir import verifier

    module = module_of(
        edge.cat.default, ([torch.ones(2, dtype=torch.int64), torch.ones(2)],), {}, torch.ones(4)
    )
    assert not violations(module, EDGE)
    monkeypatch.setattr(verifier, "stands_for_executorch", lambda: True)
    assert "does not support tensors torch.int64 together" in str(violations(module, EDGE)[0])


def test_rules_can_be_added(monkeypatch: pytest.MonkeyPatch) -> None:
    from rushlight.ir.dtype_rules import FURTHER_RULES, FunctionDtypeConstraint

    rule: dict[str, Any] = {
        "type_alias": {"T0": ["Float"], "T1": ["Int"]},
        "type_constraint": [{"self": "T0", "src": "T1", "__ret_0": "T0"}],
    }
    monkeypatch.setitem(FURTHER_RULES, "aten::masked_scatter", rule)
    schema = rule_of(aten.masked_scatter.default._schema)
    assert schema is not None and schema.aliases["T1"] == {torch.int32}
    with pytest.raises(RuntimeError, match="lacks \\['mask'\\]"):
        FunctionDtypeConstraint(["self", "mask"], [], schema.aliases, schema.constraints)


def test_constraints_are_of_whole_calls() -> None:
    norm = edge.native_layer_norm.default._schema.dtype_constraint
    results = {f"__ret_{index}": torch.float32 for index in range(3)}
    assert norm.validate({"input": torch.float32, "bias": None, **results})
    assert not norm.validate({"input": torch.float32, "bias": torch.int32, **results})
    assert not norm.validate({"input": torch.float32}) and not norm.validate({**results, "other": None})
    assert norm["weight"] == {torch.float16, torch.bfloat16, torch.float32, torch.float64}
    assert norm["other"] == set()


def test_dtypes_of_no_call_are_left_to_kernels_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from rushlight.ir import verifier

    module = module_of(edge.argmax.default, (torch.ones(2, dtype=torch.bool),), {}, torch.tensor(0))
    assert not violations(module, EDGE)
    monkeypatch.setattr(verifier, "stands_for_executorch", lambda: True)
    (found,) = violations(module, EDGE)
    assert "argument self is torch.bool, which it does not support" in str(found)
    assert not violations(module, EDGE, Options(dtypes=False))


def test_dtypes_are_not_checked_without_the_check_of_the_dialects(monkeypatch: pytest.MonkeyPatch) -> None:
    from rushlight.ir import verifier

    monkeypatch.setattr(verifier, "stands_for_executorch", lambda: True)
    program = torch.export.export(Doubled(), (torch.ones(2, dtype=torch.complex64),))
    edge_program = to_edge(program, compile_config=EdgeCompileConfig(_check_ir_validity=False))
    assert edge.add.Tensor in [node.target for node in edge_program.exported_program().graph.nodes]
    with pytest.raises(CompileError, match="complex64"):
        to_edge(program)


class Doubled(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + x
