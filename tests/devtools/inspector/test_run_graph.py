"""Values of operators in the bodies of control flow, one for each execution."""

from __future__ import annotations

from typing import Any

import torch
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

from rushlight.devtools.inspector.run_graph import run_graph

aten = torch.ops.aten


class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor, count: torch.Tensor) -> Any:
        x = torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,))
        _, y = while_loop(lambda i, y: i.sum() < 3, lambda i, y: (i + 1, torch.tanh(y)), (count, x))
        state, rows = scan(lambda h, x: (h * x, h + x), x[0], y)
        return y, state, rows, torch_map(torch.exp, y)  # type: ignore[arg-type]


def test_each_execution_has_a_value() -> None:
    model, inputs = Net(), (torch.rand(4, 2), torch.tensor([0]))
    program = torch.export.export(model, inputs)
    values = run_graph(program, inputs, {})
    by_operator = {node.target: found for node, found in values.items()}
    expected = model(*inputs)
    assert aten.cos.default not in by_operator
    x = torch.sin(inputs[0])
    assert len(by_operator[aten.tanh.default]) == 3 and len(by_operator[aten.lt.Scalar]) == 4
    torch.testing.assert_close(by_operator[aten.tanh.default][1], torch.tanh(torch.tanh(x)))
    assert len(by_operator[aten.exp.default]) == 4
    results = program.graph.output_node().args[0]
    for node, value in zip(results, expected, strict=True):  # type: ignore[arg-type]
        torch.testing.assert_close(values[node][0], value)  # type: ignore[index]


def test_replaced_values_of_one_execution() -> None:
    inputs = (torch.rand(4, 2), torch.tensor([0]))
    program = torch.export.export(Net(), inputs)
    values = run_graph(program, inputs, {})
    node = next(node for node in values if node.target is aten.tanh.default)
    changed = run_graph(program, inputs, {node: {(1, 0): torch.zeros(4, 2)}})
    assert torch.equal(changed[node][1], values[node][1])
    assert torch.equal(changed[node][2], torch.zeros(4, 2))
