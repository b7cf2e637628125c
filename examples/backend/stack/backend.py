"""The ahead-of-time part: an edge program becomes the bytes that stack_backend.cpp runs."""

from __future__ import annotations

import struct
from typing import final

from torch.export import ExportedProgram

from rushlight.delegate.backend import BackendDetails, CompileSpec, PreprocessResult
from rushlight.delegate.debug import DelegateMappingBuilder

OPERATIONS = {"aten.add.Tensor": 0, "aten.sub.Tensor": 1, "aten.mul.Tensor": 2}


@final
class StackBackend(BackendDetails):
    """Payload: u8[4] "STAK", u32 registers, u32 instructions, then u32 operation, a, b, result for each.

    The first registers are the delegate's inputs, the next its outputs, the rest are temporary.
    """

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        nodes = list(edge_program.graph.nodes)
        registers = [node for node in nodes if node.op == "placeholder"]
        registers += edge_program.graph.output_node().args[0]
        registers += [node for node in nodes if node.op == "call_function" and node not in registers]
        instructions = []
        handles = DelegateMappingBuilder(generated_identifiers=True)
        for node in nodes:
            if node.op == "call_function":
                operation = OPERATIONS[str(node.target._op)]
                instructions.append((operation, *(registers.index(item) for item in (*node.args, node))))
                handles.insert_delegate_mapping_entry(nodes=node)
        payload = struct.pack("<4sII", b"STAK", len(registers), len(instructions))
        payload += b"".join(struct.pack("<4I", *instruction) for instruction in instructions)
        return PreprocessResult(payload, handles.get_delegate_mapping())
