"""The ahead-of-time part: compiles an edge program to the payload that stack_backend.cpp executes."""

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
    """Compiles a part of a program to a payload.

    The payload has these fields, in little-endian order:
        u8[4] "STAK";
        u32[6] numbers of inputs, outputs, constants, states, temporaries, instructions;
        u32 number of elements of each register;
        u32[4] operation, register a, register b, result register of each instruction;
        u8[64] key of each constant, and of the initial value of each state, in the named data of the program.

    Registers are numbered in this order: inputs, outputs, constants, states, temporaries. The identifiers in
    the debug handle map are the indices of instructions.
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
        copies: list[tuple[int, Node]] = []  # register and value of outputs that need a copy at the end
        for place, node in enumerate(outputs, len(inputs)):
            if node in computed and node not in registers:
                registers[node] = place  # computed directly into the output
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
                        f"buffer {spec.target} gets the value of {node}, which this backend does not compute"
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
    """Stores the bytes of a tensor as named data, and returns the key, which is their SHA-256 digest."""
    tensors = program.state_dict if target in program.state_dict else program.constants
    data = tensors[target].detach().contiguous().view(torch.uint8).numpy().tobytes()
    key = hashlib.sha256(data).hexdigest()
    store.add_named_data(key, data, alignment=16)
    return key.encode()
