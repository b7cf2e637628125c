"""Small helpers that code for ExecuTorch imports from modules of `exir`."""

from __future__ import annotations

import contextlib
import copy
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import sympy
import torch
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule, Node
from typing_extensions import deprecated as deprecated

from rushlight.emit.tensors import SCALAR_TYPES, make_tensor
from rushlight.format.program import AllocationDetails, ScalarType, Tensor
from rushlight.ir import meta
from rushlight.ir.constants import NewConstants
from rushlight.ir.dim_order_ops import dim_order_of
from rushlight.ir.edge_ops import aten_op
from rushlight.ir.fake import Evaluator
from rushlight.ir.out_variants import find_out_variant
from rushlight.ir.spec import (
    TensorSpec,
    contiguous_strides,
    dim_order_from_strides,
    is_order_unknown,
    strides_from_dim_order,
)
from rushlight.ir.sym import IntLike, hint, upper_bound
from rushlight.passes.rebuild import with_graph_module

Value: TypeAlias = Any
"""What a traced function takes and returns."""

FROM_NODE_KEY = "from_node"
DEBUG_HANDLE_KEY = "debug_handle"
UNSET_DEBUG_HANDLE = 0
PROTECTED_KEYS = frozenset({"val", "stack_trace", "nn_module_stack", "debug_handle", "tensor_meta"})


class ExperimentalWarning(DeprecationWarning):
    """An API that may change in every release was called."""


class experimental(deprecated):
    """Marks a class or function as one that may change; its first call in a line warns.

    Args:
        message: the text of the warning.
    """

    def __init__(self, message: str, /, *, category: Any = ExperimentalWarning, stacklevel: int = 1) -> None:
        super().__init__(message, category=category, stacklevel=stacklevel)


@dataclass
class ExirDynamoConfig:
    """Options of an old capture front end, which torch.export replaces; nothing reads them."""

    allow_rnn: bool = True
    verbose: bool = True
    assume_static_by_default: bool = False
    do_not_emit_runtime_asserts: bool = True


def eval_expr(symint: IntLike) -> int | None:
    """Returns the example value of a size; None if the size is known only at run time."""
    return hint(symint)


def eval_upper_bound(maybe_symint: IntLike) -> int:
    """Returns the largest value of a size.

    A size without a bound has the one of the example inputs; sys.maxsize - 1 stands for one that follows from
    data.
    """
    bound = upper_bound(maybe_symint)
    bound = hint(maybe_symint) if bound is None else bound
    return sys.maxsize - 1 if bound is None else bound


def eval_shape(shape: Iterable[IntLike]) -> list[int | None]:
    """Returns the sizes for the example inputs."""
    return [eval_expr(size) for size in shape]


def eval_shape_upper_bound(shape: Iterable[IntLike]) -> list[int]:
    """Returns the largest values of sizes."""
    return [eval_upper_bound(size) for size in shape]


def collect_free_symbols(inputs: Iterable[object]) -> set[str]:
    """Returns the names of the symbols that are a whole size of tensors."""
    sizes: list[Any] = [s for value in inputs if isinstance(value, torch.Tensor) for s in value.shape]
    expressions = [size.node.expr for size in sizes if isinstance(size, torch.SymInt)]
    return {str(expression) for expression in expressions if isinstance(expression, sympy.Symbol)}


def get_greatest_ancestor_node_identifier(node: Node) -> str:
    """Returns the name of the exported program's node that a node comes from."""
    found: Any = node
    while history := (meta.history_of(found) if isinstance(found, Node) else found.from_node):
        found = history[-1]
    if isinstance(found, Node):
        return f"{found.name}.{id(found.graph)}"
    return f"{found.name}.{found.graph_id}"


@contextlib.contextmanager
def setting_python_recursive_limit(limit: int = 10000) -> Iterator[None]:
    """Sets the limit of nested calls within the context."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(limit)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def lift_constant_tensor_pass(ep: ExportedProgram) -> ExportedProgram:
    """Converts constants in graph attributes to program inputs; the program is changed."""
    module = ep.graph_module
    read = [node for node in module.graph.nodes if node.op == "get_attr"]
    evaluator, added = Evaluator.of(module), None
    for node in read:
        tensor = getattr(module, str(node.target), None)
        if not isinstance(tensor, torch.Tensor):
            continue
        added = added or NewConstants(ep)
        new = added.add("_lifted_tensor_constant", tensor, evaluator.like(tensor), node)
        node.replace_all_uses_with(new)
        module.graph.erase_node(node)
        delattr(module, str(node.target))
    if added is not None:
        module.recompile()
    return ep


def _update_exported_program_graph_module(
    exported_program: ExportedProgram, new_graph_module: GraphModule
) -> ExportedProgram:
    """Returns a program with another graph and a matching signature."""
    return with_graph_module(exported_program, new_graph_module)


def _get_updated_graph_signature(
    old_signature: ExportGraphSignature, new_gm: GraphModule
) -> ExportGraphSignature:
    """Returns a signature whose inputs and outputs have the names of a new graph's."""
    signature = copy.deepcopy(old_signature)
    placeholders = [node for node in new_gm.graph.nodes if node.op == "placeholder"]
    for spec, node in zip(signature.input_specs, placeholders, strict=True):
        if hasattr(spec.arg, "name"):
            spec.arg.name = node.name
    results: Any = new_gm.graph.output_node().args[0]
    for output, result in zip(signature.output_specs, results, strict=True):
        if hasattr(output.arg, "name") and isinstance(result, Node):
            output.arg.name = result.name
    return signature


def num_bytes_from_shape_and_dtype(shape: Iterable[int], dtype: torch.dtype) -> int:
    """Returns the bytes of a dense tensor."""
    return math.prod(shape) * dtype.itemsize


def contiguous_stride_from_shape(shape: Sequence[IntLike]) -> tuple[IntLike, ...]:
    """Returns the strides, in elements, of a dense row-major tensor."""
    return contiguous_strides(shape)


def dim_order_from_stride(stride: Sequence[IntLike]) -> tuple[int, ...]:
    """Returns the dimensions from the outermost to the innermost.

    Raises:
        RuntimeError: a stride is 0, so that it says nothing of the order.
        GuardOnDataDependentSymNode: nothing says which of two unknown strides is the larger one.
    """
    if any(isinstance(step, int) and step == 0 for step in stride):
        raise RuntimeError("0 in strides is not supported: it says nothing of the order of dimensions")
    order = dim_order_from_strides(stride)
    for outer, inner in pairwise(stride[dim] for dim in order):
        if is_order_unknown(outer, inner):
            bool(outer < inner)  # torch raises the error, which names both
    return order


def get_dim_order(memory_format: torch.memory_format, ndim: int) -> list[int]:
    """Returns the order of dimensions of a dense tensor of `ndim` dimensions in a memory format.

    Raises:
        ValueError: no order belongs to this format and number.
    """
    return list(dim_order_of(memory_format, ndim))


def stride_from_dim_order(sizes: Sequence[int], dim_order: Sequence[int]) -> list[IntLike]:
    """Returns the strides, in elements, of a dense tensor with an order of dimensions."""
    return list(strides_from_dim_order(sizes, dim_order))


def calculate_aligned_num_bytes(num: int, alignment: int) -> int:
    """Returns the smallest multiple of `alignment` that is at least `num`."""
    return -(-num // alignment) * alignment


class AddressSpaceOverflowException(Exception):
    """An offset has more than 64 bits."""


def make_allocation_info(mem_id: int, mem_offset: int) -> AllocationDetails:
    """Returns how the file format writes a place in planned memory.

    Args:
        mem_id: the memory.
        mem_offset: bytes from its start.

    Raises:
        ValueError: the offset is negative.
        AddressSpaceOverflowException: it has more than 64 bits.
    """
    if mem_offset < 0:
        raise ValueError(f"mem_offset {mem_offset} must not be negative")
    if mem_offset >> 64:
        raise AddressSpaceOverflowException(f"mem_offset {mem_offset} does not fit in 64 bits")
    return AllocationDetails(mem_id, mem_offset & 0xFFFFFFFF, mem_offset >> 32)


def make_tensor_value(
    data_buffer_idx: int, allocation_info: AllocationDetails | None, spec: TensorSpec
) -> Tensor:
    """Returns how the file format writes a tensor.

    Args:
        data_buffer_idx: the index of its data, 0 without any.
        allocation_info: its place in planned memory, or None.
        spec: the tensor.
    """
    tensor = make_tensor(spec, data_buffer_idx, planned=False)
    tensor.allocation_info = allocation_info
    return tensor


def get_schema_for_operators(ops: Iterable[str]) -> dict[str, str]:
    """Returns the schema of each operator by its name.

    Args:
        ops: names such as "torch.ops.aten.cat.default".

    Returns:
        Schemas by names such as "aten::cat.default"; "<No Schema Found>" where there is no such operator.
    """
    known = {
        f"{schema.name}.{schema.overload_name or 'default'}": str(schema)
        for schema in torch._C._jit_get_all_schemas()
    }
    names = [re.sub(r"^torch\.ops\.([^.]+)\.", r"\1::", op) for op in ops]
    return {name: known.get(name, "<No Schema Found>") for name in names}


def extract_out_arguments(
    schema: torch._C.FunctionSchema, keyword_args: Mapping[str, Any]
) -> tuple[str, Any] | list[tuple[str, Any]]:
    """Returns the name and the value of the argument that an out variant writes, a list of them if there is
    not exactly one.
    """
    written = [a.name for a in schema.arguments if a.is_out and a.name in keyword_args]
    if not written and "out" in keyword_args:
        written = ["out"]
    found = [(name, keyword_args[name]) for name in written]
    return found[0] if len(found) == 1 else found


def format_schema_name(schema: torch._C.FunctionSchema) -> str:
    """Returns the name of an operator with its overload, such as "aten::add.Tensor"."""
    return f"{schema.name}.{schema.overload_name}" if schema.overload_name else str(schema.name)


@contextlib.contextmanager
def no_dispatch() -> Iterator[None]:
    """Leaves tensors of subclasses to their plain operators within the context."""
    guard = torch._C._DisableTorchDispatch()
    try:
        yield
    finally:
        del guard


def scalar_type_enum(dtype: torch.dtype) -> ScalarType:
    """Returns how the file format writes a dtype.

    Raises:
        KeyError: it has no number for this dtype.
    """
    return SCALAR_TYPES[dtype]


def get_scalar_type(enum: ScalarType) -> torch.dtype:
    """Returns the dtype for a number in the file format.

    Raises:
        KeyError: no dtype of torch has this number.
    """
    return {number: dtype for dtype, number in SCALAR_TYPES.items()}[enum]


def unwrap_op_overload(target: object) -> OpOverload:
    """Returns the operator of torch behind an operator of any dialect.

    Raises:
        TypeError: the target is no operator.
    """
    op = aten_op(target)
    if op is None and isinstance(getattr(target, "_op", None), OpOverload):
        return target._op  # type: ignore[no-any-return, attr-defined]
    if op is None:
        raise TypeError(f"{target!r} is no operator")
    return op


def to_out_variant(op_overload: OpOverload) -> tuple[OpOverload, tuple[str, ...]]:
    """Returns the overload of an operator that writes into given tensors, and the names of these arguments.

    Raises:
        RuntimeError: there is none.
    """
    plain = unwrap_op_overload(op_overload)
    if is_out_variant(plain._schema.name, plain._schema.overload_name):
        return plain, get_out_args_from_opoverload(plain)
    variant = find_out_variant(plain)
    if variant is None:
        raise RuntimeError(f"Missing out variant for functional op: {plain._schema}{_near_misses(plain)}")
    return variant.op, tuple(variant.outs)


def _near_misses(op: OpOverload) -> str:
    """Lists overloads of an operator that write into given tensors but take other arguments."""
    packet = op.overloadpacket
    near = [getattr(packet, name) for name in packet.overloads()]
    schemas = [
        str(other._schema)
        for other in near
        if is_out_variant(other._schema.name, other._schema.overload_name)
    ]
    if not schemas:
        return ". No overload of it writes into given tensors; is the library that defines one loaded?"
    return (
        f"\nFound an out variant for operator name {op.name()} but its schema mismatched with functional op."
        f"\nout variants:\t{'; '.join(schemas)}"
    )


def get_out_args_from_opoverload(op_overload: object) -> tuple[str, ...]:
    """Returns the names of the arguments that an out variant writes."""
    arguments = unwrap_op_overload(op_overload)._schema.arguments
    return tuple(a.name for a in arguments if a.alias_info is not None and a.alias_info.is_write)


def parse_qualified_opname(qualified_opname: str) -> tuple[str, str]:
    """Returns the namespace, "aten" by default, and the name of an operator such as "aten::add"."""
    namespace, _, name = qualified_opname.rpartition("::")
    return namespace or "aten", name


def get_op_overload(qualified_opname: str, overload: str) -> OpOverload:
    """Returns the operator of torch of a name and the name of an overload."""
    namespace, name = parse_qualified_opname(qualified_opname)
    found: OpOverload = getattr(getattr(getattr(torch.ops, namespace), name), overload or "default")
    return found


def is_out_variant(qualified_opname: str, overload: str) -> bool:
    """Returns whether an operator writes into keyword arguments."""
    schema = get_op_overload(qualified_opname, overload)._schema
    return any(a.kwarg_only and a.alias_info is not None and a.alias_info.is_write for a in schema.arguments)


def is_inplace_variant(qualified_opname: str, overload: str) -> bool:
    """Returns whether an operator writes its first argument."""
    arguments = get_op_overload(qualified_opname, overload)._schema.arguments
    return bool(arguments) and arguments[0].alias_info is not None and arguments[0].alias_info.is_write


def get_submodule(graph_module: GraphModule, node: Node, arg_index: int) -> tuple[str, torch.nn.Module, Node]:
    """Returns the name of the graph module that an argument of a node reads, the module, and the node.

    Raises:
        ValueError: the argument reads no attribute.
    """
    read = node.args[arg_index]
    if not isinstance(read, Node) or read.op != "get_attr":
        raise ValueError(f"argument {arg_index} of {node.name} reads no attribute of the graph module")
    return str(read.target), graph_module.get_submodule(str(read.target)), node
