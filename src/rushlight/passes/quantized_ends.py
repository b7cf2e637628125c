"""Reads the quantization parameters of the inputs and outputs of a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch.export import ExportedProgram
from torch.fx import Node

from rushlight.ir.quantization import INTEGERS, dequantize_params, quantize_params

Parameters = dict[str, Any]


def extract_io_quant_params(
    edge_prog: Any, *, input_idxs: Sequence[int] = (0,), output_idxs: Sequence[int] = (0,)
) -> dict[str, dict[str, Parameters]]:
    """Returns the scale and zero point of inputs and outputs. A caller needs them to pass quantized tensors.

    Args:
        edge_prog: an edge manager or an exported program; it is not changed.
        input_idxs: the indices of the inputs.
        output_idxs: the indices of the outputs.

    Returns:
        {"inputs": {placeholder: {"scale": float, "zero_point": int}}, "outputs": {quantized node: ...}}.

    Raises:
        ValueError: an index is out of range, or the input or output is not quantized per tensor.
    """
    program: ExportedProgram = (
        edge_prog if isinstance(edge_prog, ExportedProgram) else edge_prog.exported_program()
    )
    nodes = {node.name: node for node in program.graph.nodes}
    inputs = [nodes[str(name)] for name in program.graph_signature.user_inputs]
    outputs = [nodes[str(name)] for name in program.graph_signature.user_outputs]
    return {
        "inputs": dict(_input(_at(inputs, index, "input")) for index in input_idxs),
        "outputs": dict(_output(_at(outputs, index, "output")) for index in output_idxs),
    }


def _at(nodes: Sequence[Node], index: int, what: str) -> Node:
    if not 0 <= index < len(nodes):
        raise ValueError(f"there is no {what} {index}: the program has {len(nodes)} {what}s")
    return nodes[index]


def _input(node: Node) -> tuple[str, Parameters]:
    for user in node.users:
        params = quantize_params(user, *INTEGERS)
        if params is not None:
            return node.name, {"scale": params.scale, "zero_point": params.zero_point}
    raise ValueError(f"input {node.name} is not quantized per tensor")


def _output(node: Node) -> tuple[str, Parameters]:
    source = node.args[0] if node.args else None
    params = dequantize_params(node, *INTEGERS)
    if params is None or not isinstance(source, Node):
        raise ValueError(f"output {node.name} is not dequantized per tensor")
    return source.name, {"scale": params.scale, "zero_point": params.zero_point}
