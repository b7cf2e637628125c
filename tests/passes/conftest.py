from __future__ import annotations

import pytest
import torch

from rushlight.ir import meta
from rushlight.ir.fake import Evaluator, fake_mode_of


class Build:
    """Writes a graph node by node, with the value of each."""

    def __init__(self):
        self.graph = torch.fx.Graph()
        self.mode = fake_mode_of(self.graph)
        self.evaluator = Evaluator(self.mode)

    def input(self, name, *shape, dtype=torch.float32, memory_format=torch.contiguous_format):
        node = self.graph.placeholder(name)
        with self.mode:
            val = torch.empty(shape, dtype=dtype)
            meta.set_val(node, val.to(memory_format=memory_format) if len(shape) == 4 else val)
        return node

    def call(self, op, *args, **kwargs):
        node = self.graph.call_function(op, args, kwargs)
        meta.set_val(node, self.evaluator.value(op, args, kwargs))
        return node

    def item(self, node, index):
        item = self.graph.call_function(__import__("operator").getitem, (node, index))
        meta.set_val(item, meta.get_val(node)[index])
        return item

    def finish(self, *results):
        self.graph.output(tuple(results))
        return torch.fx.GraphModule({}, self.graph)


@pytest.fixture
def build():
    return Build()


def calls(module):
    return [
        getattr(node.target, "__name__", str(node.target)).removeprefix("aten.")
        for node in module.graph.nodes
        if node.op == "call_function"
    ]


@pytest.fixture(name="calls")
def calls_fixture():
    """calls(graph_module) -> the names of the operators called, in order."""
    return calls
