"""The state of the emission of one method. All graphs of the method share it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from torch.fx import Node

from rushlight.emit.constants import ConstantBuffers
from rushlight.emit.values import Ref, Values
from rushlight.format.program import (
    BackendDelegate,
    Frame,
    FrameList,
    Instruction,
    InstructionArguments,
    JumpFalseCall,
    KernelCall,
    MoveCall,
    Operator,
)
from rushlight.ir import meta
from rushlight.ir.json_types import JsonObject
from rushlight.ir.meta import DebugHandle
from rushlight.ir.report import Refusal
from rushlight.target.kernel_table import KernelTable


@dataclass(frozen=True, slots=True)
class EmitOptions:
    """The options of emission.

    Attributes:
        stack_traces: write the source lines of the model.
        target: the kernels of the target, with which the program must run. None means that kernels are not
            checked.
        state_names: write the names of mutable buffers.
        state_values: write the initial values of mutable buffers, unless all values are zero. The runtime
            initializes planned memory with zeros.
    """

    stack_traces: bool = False
    target: KernelTable | None = None
    state_names: bool = False
    state_values: bool = True


@dataclass(slots=True)
class MethodState:
    """The parts of an execution plan during its construction."""

    options: EmitOptions
    constants: ConstantBuffers
    values: Values = field(default_factory=Values)
    operators: list[Operator] = field(default_factory=list)
    delegates: list[BackendDelegate] = field(default_factory=list)
    instructions: list[Instruction] = field(default_factory=list)
    traces: list[FrameList] = field(default_factory=list)
    debug_handles: dict[int, DebugHandle | Sequence[DebugHandle]] = field(default_factory=dict)
    nodes: dict[int, Node] = field(default_factory=dict)
    delegate_maps: dict[int, JsonObject] = field(default_factory=dict)
    result_counts: dict[int, int] = field(default_factory=dict)
    refusals: list[Refusal] = field(default_factory=list)
    _operator_index: dict[tuple[str, str], int] = field(default_factory=dict)

    def append(self, arguments: InstructionArguments, node: Node | None) -> int:
        """Adds an instruction for `node`. Returns the index of the instruction."""
        index = len(self.instructions)
        self.instructions.append(Instruction(arguments))
        if self.options.stack_traces:
            frames = [] if node is None else meta.source_frames(node)
            self.traces.append(FrameList([Frame(f.file, f.line, f.function, f.code) for f in frames]))
        return index

    def call(self, name: str, overload: str, arguments: list[Ref], node: Node | None) -> int:
        """Adds a kernel call.

        `overload` is empty for the default overload. Returns the index of the instruction.
        """
        key = (name, overload)
        operator = self._operator_index.get(key)
        if operator is None:
            operator = self._operator_index[key] = len(self.operators)
            self.operators.append(Operator(name, overload))
        index = self.append(KernelCall(operator, [ref.index for ref in arguments]), node)
        if node is not None:
            self.nodes[index] = node
            handle = meta.get_debug_handle(node)
            if handle is not None:
                self.debug_handles[index] = handle
        return index

    def move(self, source: Ref, target: Ref, node: Node) -> None:
        """Adds a move of a value to another value. Adds nothing if both are the same value."""
        if source != target:
            self.append(MoveCall(source.index, target.index), node)

    def jump_if_false(self, condition: Ref, destination: int, node: Node) -> int:
        """Adds a conditional jump. If the destination is not known yet, `land` sets it later.

        Returns:
            The index of the instruction.
        """
        return self.append(JumpFalseCall(condition.index, destination), node)

    def land(self, jump: int) -> None:
        """Sets the destination of a jump to the next instruction."""
        arguments = self.instructions[jump].instr_args
        assert isinstance(arguments, JumpFalseCall)
        arguments.destination_instruction = len(self.instructions)
