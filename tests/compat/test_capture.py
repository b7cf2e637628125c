"""`capture` and `patch_forward`, the names of an older export interface of ExecuTorch."""

from __future__ import annotations

import pytest
import torch
from torch.export import Dim
from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassResult

from rushlight.compat.capture import capture, patch_forward
from rushlight.exir import CaptureConfig
from rushlight.ir.edge_ops import ops
from rushlight.runtime import Runtime


def test_capture_of_a_function_runs() -> None:
    x = torch.randn(10)
    captured = capture(lambda x: torch.add(torch.add(x, x), x), (x,), CaptureConfig())
    assert [str(n.target) for n in captured.graph_module.graph.nodes][1:3] == ["aten.add.Tensor"] * 2
    edge = captured.to_edge()
    torch.testing.assert_close(edge.exported_program.module()(x), 3 * x)
    method = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")
    torch.testing.assert_close(method.execute([x])[0], 3 * x)


def test_programs_of_one_method() -> None:
    def to_tanh(module: GraphModule) -> PassResult:
        (node,) = module.graph.find_nodes(op="call_function", target=ops.edge.aten.relu.default)
        node.target = ops.edge.aten.tanh.default
        return PassResult(module, True)

    x = torch.randn(3)
    captured = capture(torch.nn.ReLU(), (x,))
    torch.testing.assert_close(captured(x), x.relu())
    with pytest.raises(RuntimeError, match="Must run to_edge"):
        captured.to_executorch()
    edge = captured.to_edge()
    assert edge.transform(to_tanh) is edge
    torch.testing.assert_close(edge(x), x.tanh())
    program = edge.to_executorch()
    assert [operator.name for operator in program.program.execution_plan[0].operators] == ["aten::tanh"]
    assert program.dump_graph_module() is program.graph_module
    assert program.dump_exported_program() is program.exported_program
    assert program.debug_handle_map.keys() == {"forward"}
    method = Runtime.get().load_program(program.buffer).load_method("forward")
    torch.testing.assert_close(method.execute([x])[0], x.tanh())


def test_options_without_effect_are_refused() -> None:
    x = torch.randn(2)
    with pytest.raises(ValueError, match="pt2_mode=False is not supported"):
        capture(torch.relu, (x,), CaptureConfig(pt2_mode=False))


def test_dynamic_shapes_follow_the_configuration() -> None:
    captured = capture(torch.nn.ReLU(), (torch.randn(3),), None, ({0: Dim("n", max=8)},))
    (x,) = (node for node in captured.graph_module.graph.nodes if node.op == "placeholder")
    assert isinstance(x.meta["val"].shape[0], torch.SymInt)


def test_another_method_is_exported() -> None:
    class Two(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + 1

        def twice(self, x: torch.Tensor) -> torch.Tensor:
            return x * 2

    module = Two()
    with patch_forward(module, module.twice):
        assert module(torch.ones(1)).item() == 2 == module.forward(torch.ones(1)).item()
        with patch_forward(module, lambda self, x: self.twice(x) * 5):
            assert module(torch.ones(1)).item() == 10
        exported = torch.export.export(module, (torch.ones(1),))
    assert exported.module()(torch.full((1,), 3.0)).item() == 6 and module(torch.full((1,), 3.0)).item() == 4
    assert "forward" not in vars(module)
