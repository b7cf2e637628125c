"""The ahead-of-time part: an edge program becomes the bytes that stack_backend.cpp runs."""

from __future__ import annotations

import hashlib
import struct
from typing import final

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx import Node

from rushlight.delegate.backend import BackendDetails, CompileSpec, PreprocessResult
from rushlight.delegate.debug import DelegateMappingBuilder
from rushlight.delegate.named_data import NamedDataStore

OPERATIONS = {"aten.add.Tensor": 0, "aten.sub.Tensor": 1, "aten.mul.Tensor": 2}
COPY = 3


@final
class StackBackend(BackendDetails):
    """Payload: u8[4] "STAK"; u32 numbers of inputs, outputs, constants, states, temporaries, instructions;
    u32 elements of each register; u32 operation, a, b, result of each instruction; u8[64] key of each
    constant and of each state's initial value among the program's named data.

    Registers are numbered in the order of these numbers. Identifiers of its debug handle map are indices of
    instructions.
    """

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        signature = edge_program.graph_signature
        targets = {s.arg.name: s.target for s in signature.input_specs if s.kind is not InputKind.USER_INPUT}
        changed = {s.target for s in signature.output_specs if s.kind is OutputKind.BUFFER_MUTATION}
        placeholders = [node for node in edge_program.graph.nodes if node.op == "placeholder"]
        inputs = [node for node in placeholders if node.name not in targets]
        constants = [n for n in placeholders if n.name in targets and targets[n.name] not in changed]
        states = [n for n in placeholders if targets.get(n.name) in changed]
        computed = [node for node in edge_program.graph.nodes if node.op == "call_function"]
        ends = list(zip(signature.output_specs, edge_program.graph.output_node().args[0], strict=True))
        outputs = [node for spec, node in ends if spec.kind is OutputKind.USER_OUTPUT]

        registers: dict[Node, int] = {node: index for index, node in enumerate(inputs)}
        copies: list[tuple[int, Node]] = []  # after everything is computed
        for place, node in enumerate(outputs, len(inputs)):
            if node in computed and node not in registers:
                registers[node] = place  # computed where it is wanted
            else:
                copies.append((place, node))
        others = [*constants, *states, *(node for node in computed if node not in registers)]
        registers.update({node: index for index, node in enumerate(others, len(inputs) + len(outputs))})
        counts = [node.meta["val"].numel() for node in (*inputs, *outputs, *others)]
        moves = [(place, registers[node]) for place, node in copies]
        updates: list[tuple[int, int]] = []
        places = {targets[node.name]: registers[node] for node in states}
        for spec, node in ends:
            if spec.kind is OutputKind.BUFFER_MUTATION:
                if node not in computed:
                    raise ValueError(
                        f"buffer {spec.target} takes the value of {node}, which this backend does not compute"
                    )
                updates.append((places[spec.target], registers[node]))

        instructions = []
        handles = DelegateMappingBuilder(generated_identifiers=True)
        for node in computed:
            a, b = (registers[argument] for argument in node.args)
            instructions.append((OPERATIONS[str(node.target._op)], a, b, registers[node]))
            handles.insert_delegate_mapping_entry(nodes=node)
        instructions += [(COPY, value, value, place) for place, value in (*moves, *updates)]

        store = NamedDataStore()
        keys = [_add(store, edge_program, targets[node.name]) for node in (*constants, *states)]
        numbers = [len(inputs), len(outputs), len(constants), len(states)]
        numbers += [len(counts) - sum(numbers), len(instructions)]
        payload = struct.pack("<4s6I", b"STAK", *numbers)
        payload += struct.pack(f"<{len(counts)}I", *counts)
        payload += b"".join(struct.pack("<4I", *instruction) for instruction in instructions)
        payload += b"".join(keys)
        return PreprocessResult(payload, handles.get_delegate_mapping(), store.get_named_data_store_output())


def _add(store: NamedDataStore, program: ExportedProgram, target: str) -> bytes:
    """Stores a tensor of the program under the digest of its bytes."""
    tensors = program.state_dict if target in program.state_dict else program.constants
    data = tensors[target].detach().contiguous().view(torch.uint8).numpy().tobytes()
    key = hashlib.sha256(data).hexdigest()
    store.add_named_data(key, data, alignment=16)
    return key.encode()
