"""Measures how the compile time grows with the program: chains of 1,000, 4,000 and 16,000 operators.

*Growth* is the ratio of the times of two neighbouring sizes divided by the ratio of the sizes. It is 1 if the
time is proportional to the number of nodes, and 4 if it is proportional to the square of this number.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import ExportedProgram
from torch.export.graph_signature import (
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from torch.fx import Graph, Node
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils import _pytree as pytree

SIZES = (1000, 4000, 16000)
KINDS = ("plain", "branches", "constants", "outputs")

_UNARY = (torch.ops.aten.relu.default, torch.ops.aten.sigmoid.default, torch.ops.aten.neg.default)


def chain(kind: str, count: int) -> ExportedProgram:
    """Returns a program with `count` operators on tensors of 8 x 8.

    Args:
        kind: "plain": each operator reads the result of the previous one. "branches": pairs of operators read
            the same tensor, and a third adds their results. "constants": every second operator adds another
            buffer. "outputs": every eighth result is an output of the program.
        count: the number of operators.
    """
    with FakeTensorMode(shape_env=ShapeEnv()):
        val = torch.empty(8, 8)
    graph = Graph()
    state = {f"b{i}": torch.full((8, 8), float(i)) for i in range(count // 2 if kind == "constants" else 0)}

    def placeholder(name: str) -> Node:
        node = graph.placeholder(name)
        node.meta["val"] = val
        return node

    def call(op: Any, *args: Any) -> Node:
        node = graph.call_function(op, args)
        node.meta["val"] = val
        return node

    buffers = [placeholder(f"b_{name}") for name in state]
    x = placeholder("x")
    inputs = [
        InputSpec(InputKind.BUFFER, TensorArgument(node.name), name, persistent=True)
        for node, name in zip(buffers, state, strict=True)
    ]
    inputs.append(InputSpec(InputKind.USER_INPUT, TensorArgument("x"), None))
    last, made, results = x, 0, []
    while made < count:
        if kind == "branches":
            parts = (call(_UNARY[made % 3], last), call(_UNARY[(made + 1) % 3], last))
            last, made = call(torch.ops.aten.add.Tensor, *parts), made + 3
        elif kind == "constants" and made % 2:
            last, made = call(torch.ops.aten.add.Tensor, last, buffers[made // 2]), made + 1
        else:
            last, made = call(_UNARY[made % 3], last), made + 1
        if kind == "outputs" and made % 8 == 0:
            results.append(last)
    results = results or [last]
    graph.output(tuple(results)).meta["val"] = tuple(node.meta["val"] for node in results)
    outputs = [OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(node.name), None) for node in results]
    example = (torch.ones(8, 8),)
    return ExportedProgram(
        root=torch.nn.Module(),
        graph=graph,
        graph_signature=ExportGraphSignature(inputs, outputs),
        state_dict=state,
        range_constraints={},
        module_call_graph=[_calling_convention(example, len(results))],
        example_inputs=(example, {}),
    )


def _calling_convention(example: tuple[torch.Tensor, ...], results: int) -> Any:
    from torch.export.exported_program import ModuleCallEntry, ModuleCallSignature

    signature = ModuleCallSignature(
        inputs=[],
        outputs=[],
        in_spec=pytree.tree_structure((example, {})),
        out_spec=pytree.tree_structure((0,) * results),
    )
    return ModuleCallEntry("", signature)


def compile_seconds(kind: str, count: int) -> float:
    """Returns the processor seconds from the exported program to the bytes of the file."""
    from rushlight.exir import to_edge

    program = chain(kind, count)
    start = time.process_time()
    data = to_edge(program).to_executorch().buffer
    seconds = time.process_time() - start
    assert data
    return seconds


def table(sizes: tuple[int, ...] = SIZES, kinds: tuple[str, ...] = KINDS) -> str:
    warnings.filterwarnings("ignore")
    compile_seconds("plain", 100)
    lines = ["chains: to_edge(exported).to_executorch().buffer, processor seconds; growth is time over size"]
    for kind in kinds:
        seconds = [compile_seconds(kind, size) for size in sizes]
        cells = [f"{size:6,} nodes {value:7.2f} s" for size, value in zip(sizes, seconds, strict=True)]
        growth = [seconds[i + 1] / seconds[i] / (sizes[i + 1] / sizes[i]) for i in range(len(sizes) - 1)]
        lines.append(f"  {kind:10}" + "  ".join(cells) + "   growth " + ", ".join(f"{g:.2f}" for g in growth))
    return "\n".join(lines)
