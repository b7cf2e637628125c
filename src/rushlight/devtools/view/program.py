"""Reads the graph of the operators in a program: kernels and delegate steps, with modules and times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from rushlight.backends.cpu.plan.evaluate import numbers
from rushlight.backends.cpu.plan.names import step_name
from rushlight.backends.cpu.plan.payload import read_plan
from rushlight.backends.cpu.plan.tables import StorageKind
from rushlight.backends.xnnpack.payload import read_payload
from rushlight.devtools.inspector.operators import Operator, look_up, operators_of, without_conversions
from rushlight.format.elements import tensor_nbytes
from rushlight.format.program import (
    DelegateCall,
    EValue,
    ExecutionPlan,
    JumpFalseCall,
    KernelCall,
    MoveCall,
    ScalarType,
    Tensor,
    TensorDataLocation,
    TensorList,
)
from rushlight.format.pte import PTEFile
from rushlight.format.text import scalar_type_name
from rushlight.ir.json_types import JsonObject

if TYPE_CHECKING:
    from rushlight.devtools.etrecord.record import ETRecord
    from rushlight.devtools.inspector.inspector import Inspector


@dataclass
class OpNode:
    """A kernel call, a delegate step, a delegate without known steps, an input or an output.

    Attributes:
        name: the name of the operator, or of the operation of a step.
        kind: "input", "output", "kernel", "delegate", "step" or "control".
        instruction: the index of the instruction; -1 for inputs and outputs.
        backend: the backend of a delegate or step; "" for other nodes.
        handle: the debug handle of a step; -1 for other nodes.
        inputs: the indices of the nodes whose results this node reads.
        results: the dtype and shape of each result.
        operators: the operators of the model that this node computes.
        modules: the paths of the modules that called these operators.
        lines: the source lines of the model, as "file:line".
        code: the text of the last source line.
        weight_bytes: the bytes of the constants that it reads, without those that an earlier node reads.
        time: the median time in ms; None if it is not known.
    """

    name: str
    kind: str
    instruction: int = -1
    backend: str = ""
    handle: int = -1
    inputs: list[int] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    operators: list[str] = field(default_factory=list)
    modules: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    code: str = ""
    weight_bytes: int = 0
    time: float | None = None


@dataclass
class Block:
    """A tensor in an arena.

    Attributes:
        name: the dtype and shape of the tensor.
        offset: the offset in bytes.
        size: the size in bytes.
        start, end: the indices of the first and last node that use the tensor.
    """

    name: str
    offset: int
    size: int
    start: int
    end: int


@dataclass
class Arena:
    """A memory with planned offsets.

    Attributes:
        name: the owner of the memory, such as "CpuBackend, instruction 0".
        size: the size in bytes.
        blocks: the tensors in the memory.
        use: the bytes in use over time: pairs of the index of the first node and the bytes from there on.
        peak: the largest number of bytes in use.
        peak_at: the index of the node at the peak.
        memory: the id of a planned memory of the method; 0 for the memory of a delegate.
    """

    name: str
    size: int
    blocks: list[Block] = field(default_factory=list)
    use: list[tuple[int, int]] = field(default_factory=list)
    peak: int = 0
    peak_at: int = 0
    memory: int = 0


@dataclass
class MethodGraph:
    """The graph of a method.

    Attributes:
        name: the name of the method.
        nodes: the inputs, then the operators in the order of execution, then the outputs.
        arenas: the planned memories of the method and of its delegates.
        total_time: the sum of all times in ms; None if times are not known.
    """

    name: str
    nodes: list[OpNode]
    arenas: list[Arena]
    total_time: float | None = None

    def asdict(self) -> JsonObject:
        """Returns the fields as plain data."""
        return asdict(self)


def method_graphs(
    file: PTEFile, record: ETRecord | None = None, inspector: Inspector | None = None
) -> list[MethodGraph]:
    """Reads the graph of each method.

    Args:
        file: the program.
        record: the ETRecord of the program, which has modules and source lines, or None.
        inspector: an inspector of an ETDump, which provides times, or None. If `record` is given, the
            inspector must have the same ETRecord.

    Raises:
        FormatError: the payload of a delegate is damaged.
    """
    return [_Reader(file, plan, record, inspector).read() for plan in file.program.execution_plan]


class _Reader:
    """Reads one method."""

    def __init__(
        self, file: PTEFile, plan: ExecutionPlan, record: ETRecord | None, inspector: Inspector | None
    ) -> None:
        self._file, self._plan = file, plan
        self._nodes: list[OpNode] = []
        self._writers: dict[int, int] = {}  # by value: the last node that writes it
        # By memory and offset: the last node that writes a planned tensor there.
        self._place_writers: dict[tuple[int, int], int] = {}
        self._uses: dict[int, list[int]] = {}  # by value: the nodes that read or write it
        self._seen: set[object] = set()
        self._arenas: list[Arena] = []
        self._operators: Mapping[int, list[Operator]] = {}
        self._handles: Mapping[int, tuple[int, ...]] = {}
        self._steps: Mapping[int, tuple[str, Mapping[str, tuple[int, ...]]]] = {}
        edge = None if record is None else record.edge_programs.get(plan.name)
        if record is not None and edge is not None:
            self._operators = operators_of(edge)
            self._handles, self._steps = record.handles_of(plan.name), record.delegates_of(plan.name)
        is_only = len(file.program.execution_plan) == 1
        self._times = _times(inspector, record, plan.name, is_only)
        self._timed: dict[tuple[int, str | None], list[OpNode]] = {}
        self._starts: list[int] = []  # by instruction: its first node

    def read(self) -> MethodGraph:
        plan = self._plan
        for index in plan.inputs:
            self._add(OpNode("input", "input"), [], [index])
        calls = [call.instr_args for chain in plan.chains for call in chain.instructions]
        for place, call in enumerate(calls):
            self._starts.append(len(self._nodes))
            if isinstance(call, KernelCall):
                self._kernel(place, call)
            elif isinstance(call, DelegateCall):
                self._delegate(place, call)
            else:
                node = OpNode(type(call).__name__.removesuffix("Call"), "control", place)
                self._timed[place, None] = [node]
                self._add(node, *_control_values(call))
        for index in plan.outputs:
            self._add(OpNode("output", "output"), [index], [])
        self._method_arenas(calls)
        self._set_times()
        total = sum(node.time or 0 for node in self._nodes) if self._times else None
        return MethodGraph(plan.name, self._nodes, self._arenas, total)

    def _add(self, node: OpNode, reads: Iterable[int], writes: Iterable[int]) -> int:
        """Adds a node that reads and writes the given values of the method, and returns its index."""
        place = len(self._nodes)
        self._nodes.append(node)
        writers = (self._writer_of(value) for value in reads)
        node.inputs = list(dict.fromkeys(writer for writer in writers if writer is not None))
        for value in reads:
            self._uses.setdefault(value, []).append(place)
        for value in writes:
            self._uses.setdefault(value, []).append(place)
            self._set_writer(value, place)
            if not isinstance(self._plan.values[value].val, TensorList):
                node.results.append(_text(self._plan.values[value]))
        if node.kind == "output":
            node.results = [_text(self._plan.values[value]) for value in reads]
        return place

    def _set_writer(self, value: int, node: int) -> None:
        self._writers[value] = node
        where = self._place_of(value)
        if where is not None:
            self._place_writers[where] = node

    def _writer_of(self, value: int) -> int | None:
        """Returns the last node that writes a value.

        No node writes a view that the compiler removed. The view lies at the place of its base, so that the
        result is the last node that writes there.
        """
        if value in self._writers:
            return self._writers[value]
        where = self._place_of(value)
        return None if where is None else self._place_writers.get(where)

    def _place_of(self, value: int) -> tuple[int, int] | None:
        """Returns the memory and the offset of a planned tensor; None for other values."""
        tensor = self._plan.values[value].val
        if not isinstance(tensor, Tensor) or tensor.allocation_info is None:
            return None
        return tensor.allocation_info.memory_id, tensor.allocation_info.memory_offset

    def _kernel(self, place: int, call: KernelCall) -> None:
        operator = self._plan.operators[call.op_index]
        name = f"{operator.name}.{operator.overload}".rstrip(".")
        writes = _results(call.args)
        reads = [value for value in dict.fromkeys(self._flat(call.args)) if value not in writes]
        node = OpNode(name, "kernel", place)
        node.weight_bytes = sum(self._constant_bytes(value) for value in reads)
        self._describe(node, self._handles.get(place, ()))
        self._timed[place, None] = [node]
        self._add(node, reads, self._flat(writes))

    def _flat(self, values: Iterable[int]) -> list[int]:
        """Returns the values, with the items of lists after each list."""
        found = []
        for value in values:
            inside = self._plan.values[value].val
            found += [value, *inside.items] if isinstance(inside, TensorList) else [value]
        return found

    def _constant_bytes(self, value: int) -> int:
        tensor = self._plan.values[value].val
        if not isinstance(tensor, Tensor) or tensor.allocation_info is not None or not tensor.data_buffer_idx:
            return 0
        extra = tensor.extra_tensor_info
        if extra is not None and extra.location == TensorDataLocation.EXTERNAL:
            return 0
        return self._first(("constant", tensor.data_buffer_idx), self._file.constants[tensor.data_buffer_idx])

    def _first(self, key: object, data: Any) -> int:
        """Returns the size of data in bytes; 0 if an earlier node reads the same data."""
        if key in self._seen:
            return 0
        self._seen.add(key)
        return memoryview(data).nbytes

    def _delegate(self, place: int, call: DelegateCall) -> None:
        delegate = self._plan.delegates[call.delegate_index]
        payload = bytes(memoryview(self._file.delegate_data[delegate.processed.index]))
        if delegate.id == "CpuBackend":
            self._cpu(place, call.args, payload)
        elif delegate.id == "XnnpackBackend":
            self._xnnpack(place, call.args, payload)
        else:
            node = OpNode(delegate.id, "delegate", place, delegate.id, weight_bytes=len(payload))
            self._describe(node, self._handles.get(place, ()))
            self._timed[place, None] = [node]
            self._add(node, [v for v in call.args if self._writer_of(v) is not None], call.args)

    def _step(self, place: int, backend: str, operation: str, handle: int) -> OpNode:
        node = OpNode(operation, "step", place, backend, handle)
        _, steps = self._steps.get(place, ("", {}))
        self._describe(node, steps.get(str(handle), ()))
        self._timed.setdefault((place, str(handle)), []).append(node)
        return node

    def _describe(self, node: OpNode, handles: tuple[int, ...]) -> None:
        found = look_up(self._operators, handles)
        node.operators = list(dict.fromkeys(operator.op for operator in found))
        found = list(without_conversions(found))
        node.modules = list(dict.fromkeys(operator.module for operator in found if operator.module))
        node.lines = list(dict.fromkeys(operator.line for operator in found if operator.line))
        node.code = found[-1].code if found else ""

    def _set_times(self) -> None:
        """Sets the time of each instruction and step that has one: the sum over the iterations of a loop.

        The steps of a delegate with the same identifier run in the order of the payload, in each iteration.
        """
        for key, nodes in self._timed.items():
            times = self._times.get(key, [])
            for place, node in enumerate(nodes[: len(times)]):
                node.time = sum(times[place :: len(nodes)])

    def _cpu(self, place: int, args: list[int], payload: bytes) -> None:
        plan = read_plan(payload)
        sizes = numbers(plan)
        arguments = {
            plan.values[argument.value].storage: args[index]
            for index, argument in enumerate(plan.arguments)
            if argument.value is not None and index < len(args)
        }
        writers: dict[int, int] = {}
        lives: dict[int, tuple[int, int, str]] = {}
        for step in plan.steps:
            operation = step.operation
            node = self._step(place, "CpuBackend", step_name(plan, operation), step.debug_handle)
            used = {effect.name: plan.values[value].storage for effect, value in operation.operands()}
            reads = [plan.values[value].storage for value in operation.reads()]
            results = {plan.values[value].storage: value for value in operation.writes()}
            index = self._add(node, [arguments[s] for s in reads if s in arguments], [])
            node.inputs += [writers[s] for s in dict.fromkeys(reads) if s in writers]
            for storage, value in results.items():
                view = plan.values[value]
                text = _shape(view.dtype, [sizes[size] for size in view.sizes])
                node.results.append(text)
                writers[storage] = index
                if storage in arguments:
                    self._set_writer(arguments[storage], index)
                    self._uses.setdefault(arguments[storage], []).append(index)
                else:
                    first, _, name = lives.get(storage, (index, index, text))
                    lives[storage] = first, index, name
            for storage in reads:
                if storage in lives:
                    lives[storage] = lives[storage][0], index, lives[storage][2]
            for storage in used.values():
                name = plan.storages[storage].name
                if name in self._file.named_data:
                    node.weight_bytes += self._first(name, self._file.named_data[name].data)
        arena = Arena(f"CpuBackend, instruction {place}", plan.arena_bytes)
        for storage, (first, last, text) in lives.items():
            found = plan.storages[storage]
            if found.kind is StorageKind.ARENA:
                arena.blocks.append(Block(text, found.offset, found.bytes, first, last))
        self._finish(arena)

    def _xnnpack(self, place: int, args: list[int], payload: bytes) -> None:
        graph, _ = read_payload(payload)
        tensors = []
        for value in graph.xvalues:
            union: Any = value.xvalue_union
            tensors.append(getattr(union, "tensor_value", None) or union)
        outside = {
            i: args[t.external_id] for i, t in enumerate(tensors) if t.flags and t.external_id < len(args)
        }
        writers: dict[int, int] = {}
        for xnode in graph.xnodes:
            union = xnode.xnode_union
            name = type(union).__name__
            node = self._step(place, "XnnpackBackend", name, xnode.debug_handle)
            fields = {key: value for key, value in vars(union).items() if key.endswith("_id")}
            writes = [value for key, value in fields.items() if key.startswith("output")]
            reads = [
                value
                for key, value in fields.items()
                if not key.startswith("output") and value < len(tensors)
            ]
            index = self._add(node, [outside[v] for v in reads if v in outside], [])
            node.inputs += [writers[v] for v in dict.fromkeys(reads) if v in writers]
            for value in writes:
                tensor = tensors[value]
                datatype = tensor.datatype.name.removeprefix("xnn_datatype_")
                node.results.append(f"{datatype}[{', '.join(map(str, tensor.dims))}]")
                writers[value] = index
                if value in outside:
                    self._set_writer(outside[value], index)
                    self._uses.setdefault(outside[value], []).append(index)
            for value in reads:
                buffer = tensors[value].constant_buffer_idx
                key = graph.constant_data[buffer].named_key if 0 < buffer < len(graph.constant_data) else ""
                if key in self._file.named_data:
                    node.weight_bytes += self._first(key, self._file.named_data[key].data)

    def _loops(self, calls: Sequence[object]) -> list[tuple[int, int]]:
        """Returns the first and the last node of each loop, the inner loops first."""
        jumps = [(place, call) for place, call in enumerate(calls) if isinstance(call, JumpFalseCall)]
        return [
            (self._starts[call.destination_instruction], self._starts[place])
            for place, call in jumps
            if call.destination_instruction <= place
        ]

    def _last_use(self, uses: Sequence[int], loops: Iterable[tuple[int, int]]) -> int:
        """Returns the last node that needs a value. A loop needs the values from before it until its end."""
        first, last = min(uses), max(uses)
        for start, end in loops:
            if first < start <= last < end:
                last = end
        return last

    def _method_arenas(self, calls: Sequence[object]) -> None:
        loops = self._loops(calls)
        arenas = {
            number: Arena(f"method {self._plan.name}, memory {number}", size, memory=number)
            for number, size in enumerate(self._plan.non_const_buffer_sizes)
            if number
        }
        last = len(self._nodes) - 1
        for index, value in enumerate(self._plan.values):
            tensor = value.val
            if isinstance(tensor, Tensor) and tensor.allocation_info is not None and index in self._uses:
                place, uses = tensor.allocation_info, self._uses[index]
                size = tensor_nbytes(tensor.scalar_type, tensor.sizes)
                end = last if index in self._plan.outputs else self._last_use(uses, loops)
                arena = arenas.get(place.memory_id)
                if arena is not None and size:
                    arena.blocks.append(Block(_text(value), place.memory_offset, size, min(uses), end))
        for arena in arenas.values():
            self._finish(arena)

    def _finish(self, arena: Arena) -> None:
        """Adds an arena, and computes its memory use over time. Bytes that tensors share count once."""
        if not arena.blocks:
            return
        starts = sorted(arena.blocks, key=lambda block: block.start)
        live: list[Block] = []
        place = 0
        for at in sorted({time for block in starts for time in (block.start, block.end + 1)}):
            live = [block for block in live if block.end >= at]
            while place < len(starts) and starts[place].start <= at:
                live.append(starts[place])
                place += 1
            arena.use.append((at, _covered(live)))
        arena.peak_at, arena.peak = max(arena.use, key=lambda found: found[1])
        self._arenas.append(arena)


def _covered(blocks: Iterable[Block]) -> int:
    """Returns the number of bytes that at least one of the tensors covers."""
    covered = end = 0
    for block in sorted(blocks, key=lambda block: block.offset):
        last = block.offset + block.size
        covered += max(0, last - max(end, block.offset))
        end = max(end, last)
    return covered


def _times(
    inspector: Inspector | None, record: ETRecord | None, method: str, is_only: bool
) -> dict[tuple[int, str | None], list[float]]:
    """Returns the median times by instruction and step identifier, in the order of the events.

    A time is multiplied by the share of the runs that have the event.
    """
    found: dict[tuple[int, str | None], list[float]] = {}
    for block in () if inspector is None else inspector.event_blocks:
        known = block.method or block.name
        if inspector is not None and record is not None:
            known = inspector.method_of(block)
        if known != method and not is_only:
            continue
        for event in block.events:
            if event.perf_data is None or event.instruction is None or event.name == "OPERATOR_CALL":
                continue
            identifier = str(event.delegate_debug_identifier) if event.is_delegated_op else None
            found.setdefault((event.instruction, identifier), []).append(event.perf_data.p50 * block.share)
    return found


def _control_values(call: object) -> tuple[list[int], list[int]]:
    """Returns the values that an instruction of control flow reads, and the values that it writes."""
    if isinstance(call, MoveCall):
        return [call.move_from], [call.move_to]
    if isinstance(call, JumpFalseCall):
        return [call.cond_value_index], []
    return [], []


def _results(args: list[int]) -> list[int]:
    """Returns the out arguments of a kernel call. The call repeats them at its end, as its results."""
    for count in range(1, len(args) // 2 + 1):
        if args[-count:] == args[-2 * count : -count]:
            return args[-count:]
    return args[-1:]


def _text(value: EValue) -> str:
    tensor = value.val
    if isinstance(tensor, Tensor):
        return _shape(tensor.scalar_type, tensor.sizes)
    return type(tensor).__name__


def _shape(dtype: int, sizes: Iterable[int]) -> str:
    return f"{scalar_type_name(ScalarType(dtype))}[{', '.join(map(str, sizes))}]"
