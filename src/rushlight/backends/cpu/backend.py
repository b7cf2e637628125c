"""The ahead-of-time part of CpuBackend."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import torch
from torch.export import ExportedProgram
from torch.fx import Node
from typing_extensions import override

from rushlight.backends.cpu.folding import SelectedConstants, constants_of_plan
from rushlight.backends.cpu.lower.int8_functions import int8_functions
from rushlight.backends.cpu.lower.nodes import operation
from rushlight.backends.cpu.lower.quantized import lower_quantized
from rushlight.backends.cpu.lower.quantized_lowering import QuantizedLowering
from rushlight.backends.cpu.lower.table import ROWS
from rushlight.backends.cpu.lower.unsupported import unsupported_reason
from rushlight.backends.cpu.optimize.context import Context
from rushlight.backends.cpu.optimize.pipeline import optimize
from rushlight.backends.cpu.options import HIGHEST, Options
from rushlight.backends.cpu.plan.builder import Builder, debug_handles
from rushlight.backends.cpu.plan.check import check_plan
from rushlight.backends.cpu.plan.payload import write_plan
from rushlight.backends.cpu.plan.tables import Convert, StorageKind
from rushlight.backends.cpu.plan.tensor import (
    FLOAT16_TYPES,
    Storage,
    Tensor,
    contiguous_strides,
    planned_dtype,
    strides_in_order,
)
from rushlight.backends.cpu.target import host_target, target_named
from rushlight.delegate.backend import BackendDetails, CompileSpec, PreprocessResult
from rushlight.delegate.constants import ConstantFiles, new_values_of_buffers
from rushlight.delegate.named_data import NamedDataStore
from rushlight.ir import meta
from rushlight.ir.constants import Constants, constant_inputs, stored_tensor
from rushlight.ir.errors import CompileError
from rushlight.ir.progress import counted
from rushlight.ir.spec import TensorSpec
from rushlight.passes.merge_branches import MergeBranchesPass
from rushlight.passes.spec_prop import with_known_layout

_DTYPE_NAMES = {torch.float16: b"float16", torch.bfloat16: b"bfloat16"}


def compile_specs(options: Options) -> list[CompileSpec]:
    """Encodes the options of a partition as compile specs, which are stored with it."""
    return [
        CompileSpec("target", options.target.name.encode()),
        CompileSpec("float32_matmul_precision", options.float32_matmul_precision.encode()),
        CompileSpec("compact", bytes([options.compact])),
        *([CompileSpec("weights", _DTYPE_NAMES[options.weights])] if options.weights in _DTYPE_NAMES else []),
    ]


def _options(specs: list[CompileSpec]) -> Options:
    """Decodes the compile specs of a partition. A missing spec means the default of its option."""
    values = {spec.key: spec.value for spec in specs}
    target = target_named(values["target"].decode()) if "target" in values else host_target()
    dtypes = {name: dtype for dtype, name in _DTYPE_NAMES.items()}
    weights = dtypes.get(values.get("weights", b""))
    precision = values.get("float32_matmul_precision", HIGHEST.encode()).decode()
    return Options(target, precision, values.get("compact") == b"\x01", weights)


class CpuBackend(BackendDetails):
    """Compiles partitions to plans, which the runtime executes with the microkernels of one instruction set.

    Packed weights become named data of the program. Without compile specs, the target of a plan is the
    instruction set of this machine, and the precision is full float32.

    The identifiers in the debug handle map are the debug handles of steps. Each identifier maps to the debug
    handles of the operators that these steps compute.
    """

    @staticmethod
    @override
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        files = ConstantFiles(edge_program)
        if not files.names:  # a merged weight would have no file of its own
            edge_program = MergeBranchesPass()(edge_program).exported_program
        constants = constants_of_plan(constant_inputs(edge_program), edge_program.graph)
        needed = _needed_constants(edge_program, constants)
        lowering = QuantizedLowering(_options(compile_specs), needed, constants)
        store = NamedDataStore()
        builder = Builder(lowering.options.target, lowering.symbols, store)
        _lower(edge_program, constants, lowering, builder)
        builder.bind_symbols()
        steps = optimize(lowering.steps, Context(lowering.options, lowering.symbols))
        plan = builder.finish(steps, files.of)
        check_plan(plan, [[tensor.version for _, tensor in step.operation.operands()] for step in steps])
        handles = debug_handles(plan, steps)
        return PreprocessResult(write_plan(plan), handles, store.get_named_data_store_output())


class _State(NamedTuple):
    """A buffer that becomes part of the plan, because only this partition reads and writes it.

    Attributes:
        memory: the buffer in the memory of the plan.
        new_value: the node that computes the value of the buffer after a call.
    """

    memory: Tensor
    new_value: Node


def _lower(
    program: ExportedProgram, constants: Constants, lowering: QuantizedLowering, builder: Builder
) -> None:
    """Lowers all nodes of a partition.

    Args:
        program: the partition.
        constants: the constants of its graph.
        lowering: gets the steps and the tensors of nodes.
        builder: gets the arguments of the delegate.
    """
    graph, signature = program.graph, program.graph_signature
    functions = int8_functions(graph, constants)
    in_functions = {node for function in functions.values() for node in function.nodes}
    new_values = new_values_of_buffers(signature)
    by_name = {node.name: node for node in graph.nodes}
    states: list[_State] = []
    outputs: list[Node] = []
    for node in counted("plan operators", graph.nodes):
        if node.op == "placeholder":
            new_value = new_values.get(signature.inputs_to_buffers.get(node.name, ""))
            if new_value is not None:
                state = _State(_add_state(lowering, program, node), by_name[new_value])
                states.append(state)
                lowering.new_states[state.memory.storage] = state.new_value
            elif not constants.is_constant(node):
                _add_input(lowering, builder, node)
        elif node.op == "output":
            outputs = list(node.args[0])
        elif node.op != "call_function":
            raise CompileError(f"a plan cannot contain node {node.name} of kind {node.op}")
        elif not constants.is_constant(node) and node not in in_functions:
            reason = unsupported_reason(node, constants)
            if reason is not None:  # CpuPartitioner makes no such partition, but another partitioner may
                raise CompileError(
                    f"CpuBackend cannot run node {node.name} in this partition: {reason}. Choose the "
                    "nodes of partitions with CpuPartitioner."
                )
            if not lower_quantized(lowering, node, functions, constants):
                ROWS[operation(node)].lower(lowering, node)
    # The new values of states are the first outputs of the graph.
    for node in outputs[len(new_values) :]:
        _add_output(lowering, builder, node)
    _update_states(lowering, states)


def _needed_constants(program: ExportedProgram, constants: Constants) -> SelectedConstants:
    """Returns the constants that a step or an output of the partition reads."""
    nodes = program.graph.nodes
    needed = (n for n in nodes if constants.is_constant(n) and not all(map(constants.is_constant, n.users)))
    return SelectedConstants(constants, needed)


def _add_input(lowering: QuantizedLowering, builder: Builder, node: Node) -> None:
    """Adds the argument of the delegate for an input of the graph: a tensor, an integer or another value."""
    index = len(builder.plan.arguments)
    fake = meta.get_tensor(node)
    if fake is None:
        value = meta.find_val(node)
        if isinstance(value, torch.SymInt):
            builder.add_int(lowering.symbols.register(value))
        else:
            builder.add_argument(None)
        return
    tensor = _argument(lowering, fake, index)
    builder.add_argument(tensor)
    lowering.set_tensor(node, lowering.upcast_float16(tensor, node))


def _argument(lowering: QuantizedLowering, fake: torch.Tensor, index: int) -> Tensor:
    """Returns a tensor in the memory of the delegate's argument `index`, with the layout of a fake tensor."""
    sizes = tuple(lowering.symbols.register(size) for size in fake.shape)
    order = with_known_layout(TensorSpec.from_tensor(fake)).dim_order
    storage = Storage(1, fake.dtype, StorageKind.ARGUMENT, index)
    for size in sizes:
        storage.numel = storage.numel * size
    return Tensor(storage, sizes, strides_in_order(sizes, order))


def _add_state(lowering: QuantizedLowering, program: ExportedProgram, node: Node) -> Tensor:
    """Adds persistent memory whose initial value is the value of the buffer."""
    spec = next(s for s in program.graph_signature.input_specs if s.arg.name == node.name)
    data = stored_tensor(program, spec)
    assert data is not None
    data = data.to(planned_dtype(data.dtype))
    sizes = tuple(data.shape)
    dense = data.detach().contiguous()
    kept = dense if dense.reshape(-1).view(torch.uint8).any() else None  # the bytes of -0.0 are not zero
    storage = Storage(data.numel(), data.dtype, StorageKind.STATE, data=kept)
    tensor = Tensor(storage, sizes, contiguous_strides(sizes))
    lowering.set_tensor(node, tensor)
    return tensor


def _update_states(lowering: QuantizedLowering, states: list[_State]) -> None:
    """Adds the steps that copy the new value of each state into its memory.

    They are the last steps of the plan: all steps that read an old value are before them. A state that steps
    have updated in place needs no copy.
    """
    copies: list[tuple[Tensor, _State]] = []
    for state in states:
        value = lowering.stored_tensor(state.new_value)
        if replace(value, version=0) == state.memory:
            continue
        if value.storage.kind is StorageKind.STATE:
            # The new value is a state or a view of a state, and another copy may overwrite that state first.
            temporary = lowering.new_tensor(value.sizes, dtype=value.dtype)
            lowering.emit_copy(value, temporary, state.new_value)
            value = temporary
        copies.append((value, state))
    for value, state in copies:
        node, updated = state.new_value, replace(state.memory, version=1)
        if node in lowering.quant_params:
            lowering.emit(lowering.dequantize_into(updated, node), node)
        else:
            lowering.emit_copy(value, updated, node)


def _add_output(lowering: QuantizedLowering, builder: Builder, node: Node) -> None:
    """Adds the argument of the delegate for an output of the graph, and a step that writes it if needed."""
    fake = meta.get_tensor(node)
    assert fake is not None
    argument = _argument(lowering, fake, len(builder.plan.arguments))
    if node in lowering.quant_params:
        lowering.emit(lowering.dequantize_into(argument, node), node)
        builder.add_argument(argument, is_output=True)
        return
    tensor = lowering.tensor(node)
    if fake.dtype is torch.uint8 and tensor.dtype is torch.int8:
        tensor = lowering.int8_as_uint8(tensor, node)
    if _can_be_argument(tensor, argument):
        tensor.storage.kind, tensor.storage.index = StorageKind.ARGUMENT, argument.storage.index
        argument = tensor
    elif argument.dtype in FLOAT16_TYPES:
        lowering.emit(Convert(input=tensor, output=argument), node)
    else:
        lowering.emit_copy(tensor, argument, node)
    builder.add_argument(argument, is_output=True)


def _can_be_argument(tensor: Tensor, argument: Tensor) -> bool:
    """Returns whether steps can compute a tensor directly in the memory of an output argument."""
    is_8_bit = tensor.dtype in (torch.int8, torch.uint8)  # steps may read beyond the end of 8-bit tensors
    return (
        tensor.dtype is argument.dtype
        and not is_8_bit
        and tensor.storage.kind is StorageKind.ARENA
        and tensor.is_dense()
        and tensor.has_layout_of(argument)
    )
