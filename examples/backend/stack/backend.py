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
        part = _Part(edge_program)
        registers = {node: index for index, node in enumerate(part.inputs)}
        for place, node in enumerate(part.outputs, len(part.inputs)):
            if node in part.computed:  # the first of equal outputs; the others are copies
                registers.setdefault(node, place)
        temporaries = [node for node in part.computed if node not in registers]
        others = [*part.constants, *part.states, *temporaries]
        registers.update({node: index for index, node in enumerate(others, len(part.inputs + part.outputs))})

        instructions = []
        handles = DelegateMappingBuilder(generated_identifiers=True)
        for node in part.computed:
            a, b = (registers[argument] for argument in node.args)
            instructions.append((OPERATIONS[str(node.target._op)], a, b, registers[node]))
            handles.insert_delegate_mapping_entry(nodes=node)
        copies = [(registers[node], place) for place, node in enumerate(part.outputs, len(part.inputs))]
        copies += [(registers[node], registers[state]) for state, node in part.updates]
        instructions += [(COPY, value, value, place) for value, place in copies if value != place]

        store = NamedDataStore()
        keys = [part.add_data(store, node) for node in (*part.constants, *part.states)]
        groups = (part.inputs, part.outputs, part.constants, part.states, temporaries, instructions)
        counts = [node.meta["val"].numel() for node in (*part.inputs, *part.outputs, *others)]
        payload = struct.pack("<4s6I", b"STAK", *map(len, groups))
        payload += struct.pack(f"<{len(counts)}I", *counts)
        payload += b"".join(struct.pack("<4I", *instruction) for instruction in instructions)
        payload += b"".join(keys)
        return PreprocessResult(payload, handles.get_delegate_mapping(), store.get_named_data_store_output())


class _Part:
    """The nodes of a part of a program, by their meaning.

    Attributes:
        inputs: the values that the program passes to the part.
        outputs: the values that the part returns. An output may be an input, or equal to another output.
        constants: the parameters and buffers that the part only reads.
        states: the buffers that the part changes.
        updates: pairs of a state and the node with its new value.
        computed: the operators in the order of execution.
    """

    def __init__(self, program: ExportedProgram) -> None:
        signature = program.graph_signature
        ends = list(zip(signature.output_specs, program.graph.output_node().args[0], strict=True))
        changes = {spec.target: node for spec, node in ends if spec.kind is OutputKind.BUFFER_MUTATION}
        self._program = program
        self._targets = {
            spec.arg.name: spec.target
            for spec in signature.input_specs
            if spec.kind is not InputKind.USER_INPUT
        }
        placeholders = [node for node in program.graph.nodes if node.op == "placeholder"]
        tensors = [node for node in placeholders if node.name in self._targets]
        self.inputs = [node for node in placeholders if node.name not in self._targets]
        self.outputs = [node for spec, node in ends if spec.kind is OutputKind.USER_OUTPUT]
        self.constants = [node for node in tensors if self._targets[node.name] not in changes]
        self.states = [node for node in tensors if self._targets[node.name] in changes]
        self.updates = [(node, changes[self._targets[node.name]]) for node in self.states]
        self.computed = [node for node in program.graph.nodes if node.op == "call_function"]
        for state, node in self.updates:
            if node not in self.computed:
                raise ValueError(
                    f"buffer {self._targets[state.name]} gets the value of {node}, which this backend does "
                    "not compute"
                )

    def add_data(self, store: NamedDataStore, node: Node) -> bytes:
        """Stores a constant or the initial value of a state, and returns the key: its SHA-256 digest."""
        target, program = self._targets[node.name], self._program
        tensors = program.state_dict if target in program.state_dict else program.constants
        data = tensors[target].detach().contiguous().view(torch.uint8).numpy().tobytes()
        key = hashlib.sha256(data).hexdigest()
        store.add_named_data(key, data, alignment=16)
        return key.encode()
