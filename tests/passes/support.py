"""Functions for tests of passes: graphs built node by node, edge programs, and passes with checks."""

from __future__ import annotations

import operator
from collections import Counter
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node

from rushlight.backends.cpu.quantizer import CpuQuantizer
from rushlight.compiler.edge import to_edge
from rushlight.exir import EdgeCompileConfig
from rushlight.ir import meta
from rushlight.ir.edge_ops import aten_op
from rushlight.ir.fake import Evaluator, fake_mode_of
from rushlight.ir.fingerprint import fingerprint, first_difference
from rushlight.ir.program import copy_program
from rushlight.passes.base import PassResult
from rushlight.quantize import quantize


class Build:
    """Builds a graph node by node, with `meta["val"]` of each node."""

    def __init__(self) -> None:
        self.graph = torch.fx.Graph()
        self.mode = fake_mode_of(self.graph)
        self.evaluator = Evaluator(self.mode)

    def input(
        self,
        name: str,
        *shape: int,
        dtype: torch.dtype = torch.float32,
        memory_format: torch.memory_format = torch.contiguous_format,
    ) -> Node:
        node = self.graph.placeholder(name)
        with self.mode:
            val = torch.empty(shape, dtype=dtype)
            meta.set_val(node, val.to(memory_format=memory_format) if len(shape) == 4 else val)
        return node

    def call(self, op: Any, *args: Any, **kwargs: Any) -> Node:
        node = self.graph.call_function(op, args, kwargs)
        meta.set_val(node, self.evaluator.value(op, args, kwargs))
        return node

    def item(self, node: Node, index: int) -> Node:
        item = self.graph.call_function(operator.getitem, (node, index))
        meta.set_val(item, meta.get_val(node)[index])
        return item

    def finish(self, *results: Node) -> GraphModule:
        self.graph.output(tuple(results))
        return GraphModule({}, self.graph)


def calls(module: torch.nn.Module) -> list[str]:
    """Returns the names of the operators that a graph module calls, in order."""
    assert isinstance(module, GraphModule)
    return [
        getattr(node.target, "__name__", str(node.target)).removeprefix("aten.")
        for node in module.graph.nodes
        if node.op == "call_function"
    ]


def apply(graph_pass: Any, module: GraphModule) -> PassResult:
    """Applies a pass to a graph, checks the result and returns it."""
    before = [(node.name, node.target, node.args, node.kwargs) for node in module.graph.nodes]
    result = graph_pass(module)
    assert isinstance(result, PassResult)
    assert [(node.name, node.target, node.args, node.kwargs) for node in module.graph.nodes] == before
    result.graph_module.graph.lint()
    return result


def edge_of(module: torch.nn.Module, *inputs: Any, **options: Any) -> ExportedProgram:
    """Returns the edge program of a module. The options are those of torch.export.export."""
    program = torch.export.export(module.eval(), inputs, **options)
    return copy_program(to_edge(program).exported_program())


def apply_to_program(program_pass: Any, program: ExportedProgram) -> Any:
    """Applies a pass to a program, checks the result and returns it."""
    before = fingerprint(program)
    result = program_pass(program)
    assert first_difference(before, fingerprint(program)) is None
    result.exported_program.graph.lint()
    result.exported_program.validate()
    return result


def quantized_edge(
    model: torch.nn.Module, inputs: tuple[Any, ...], config: Any
) -> tuple[ExportedProgram, ExportedProgram]:
    """Returns the quantized program and its edge program. The inputs are also the calibration data."""
    program = quantize(model.eval(), inputs, CpuQuantizer().set_global(config), [inputs])
    return program, edge_of_quantized(program)


def edge_of_quantized(program: ExportedProgram) -> ExportedProgram:
    """Returns the edge program of a quantized program."""
    edge = to_edge(program, compile_config=EdgeCompileConfig(core_aten_only=False)).exported_program()
    return copy_program(edge)


def counted(program: ExportedProgram) -> Counter[Any]:
    """Returns how often a program calls each operator."""
    return Counter(aten_op(node.target) for node in program.graph.nodes if node.op == "call_function")


def output_scale(program: ExportedProgram) -> float:
    """Returns the scale of the only output of a quantized program."""
    (output,) = program.graph.output_node().args[0]
    return float(output.args[1])
