"""Helper functions that code for ExecuTorch imports from modules of `exir`."""

from __future__ import annotations

import contextlib
import copy
import logging
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
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
from rushlight.format.program import AllocationDetails, FrameList, ScalarType, Tensor
from rushlight.ir import meta
from rushlight.ir.constants import NewConstants
from rushlight.ir.dim_order_ops import dim_order_of, memory_format_of
from rushlight.ir.edge_ops import aten_op
from rushlight.ir.fake import Evaluator
from rushlight.ir.out_variants import find_out_variant, result_arguments
from rushlight.ir.spec import (
    TensorSpec,
    contiguous_strides,
    dim_order_from_strides,
    is_order_unknown,
    strides_from_dim_order,
)
from rushlight.ir.sym import IntLike, hint, upper_bound
from rushlight.passes.rebuild import with_graph_module

ScalarSpec: TypeAlias = int | float
LeafValueSpec: TypeAlias = TensorSpec | ScalarSpec
ValueSpec: TypeAlias = "LeafValueSpec | list[ValueSpec] | tuple[ValueSpec, ...]"

Value: TypeAlias = Any
"""An argument or a result of a traced function."""

FROM_NODE_KEY = "from_node"
DEBUG_HANDLE_KEY = "debug_handle"
UNSET_DEBUG_HANDLE = 0
PROTECTED_KEYS = frozenset({"val", "stack_trace", "nn_module_stack", "debug_handle", "tensor_meta"})


class ExperimentalWarning(DeprecationWarning):
    """The program uses an API that may change in any release."""


class experimental(deprecated):
    """Marks a class or a function whose API may change. A call of it causes an ExperimentalWarning.

    Args:
        message: the text of the warning.
    """

    def __init__(self, message: str, /, *, category: Any = ExperimentalWarning, stacklevel: int = 1) -> None:
        super().__init__(message, category=category, stacklevel=stacklevel)


@dataclass
class ExirDynamoConfig:
    """Options of an old front end, which torch.export replaces.

    Raises:
        ValueError: an option is not the default, because torch.export has no such option.
    """

    allow_rnn: bool = True
    verbose: bool = True
    assume_static_by_default: bool = False
    do_not_emit_runtime_asserts: bool = True

    def __post_init__(self) -> None:
        for option in fields(self):
            given = getattr(self, option.name)
            if given != option.default:
                raise ValueError(
                    f"{option.name}={given!r} is not supported, because torch.export exports programs; use "
                    f"{option.name}={option.default}"
                )


def eval_expr(symint: IntLike) -> int | None:
    """Returns the example value of a size; None if the size is known only at run time."""
    return hint(symint)


def eval_upper_bound(maybe_symint: IntLike) -> int:
    """Returns the upper bound of a size.

    For a size without an upper bound, this is its value for the example inputs. For a size that depends on
    data, it is sys.maxsize - 1.
    """
    bound = upper_bound(maybe_symint)
    bound = hint(maybe_symint) if bound is None else bound
    return sys.maxsize - 1 if bound is None else bound


def eval_shape(shape: Iterable[IntLike]) -> list[int | None]:
    """Returns the example values of sizes, as `eval_expr` does."""
    return [eval_expr(size) for size in shape]


def eval_shape_upper_bound(shape: Iterable[IntLike]) -> list[int]:
    """Returns the upper bounds of sizes, as `eval_upper_bound` does."""
    return [eval_upper_bound(size) for size in shape]


def collect_free_symbols(shape: Iterable[IntLike]) -> set[sympy.Symbol]:
    """Returns the symbols that occur in the sizes of a shape."""
    expressions = [size.node.expr for size in shape if isinstance(size, torch.SymInt)]
    return {symbol for expression in expressions for symbol in expression.free_symbols}


def get_greatest_ancestor_node_identifier(node: Node) -> str:
    """Returns the name and the graph id of the node in the exported program from which a node was made."""
    found: Any = node
    while history := (meta.history_of(found) if isinstance(found, Node) else found.from_node):
        found = history[-1]
    if isinstance(found, Node):
        return f"{found.name}.{id(found.graph)}"
    return f"{found.name}.{found.graph_id}"


@contextlib.contextmanager
def setting_python_recursive_limit(limit: int = 10000) -> Iterator[None]:
    """Sets Python's recursion limit within the context."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(limit)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


@contextlib.contextmanager
def override_logger(
    newLevel: int = logging.DEBUG, fmtstr: str = "%(message)s", filename: str | None = None
) -> Iterator[None]:
    """Changes the root logger within the context.

    Args:
        newLevel: the least level of messages.
        fmtstr: the format of the handlers that exist; "" keeps their formats.
        filename: a file to which messages are also written; its contents are replaced.
    """
    root, added = logging.root, logging.FileHandler(filename, mode="w") if filename else None
    level, before = root.level, [(handler, handler.formatter) for handler in root.handlers]
    root.setLevel(newLevel)
    for handler, _ in before if fmtstr else ():
        handler.setFormatter(logging.Formatter(fmtstr))
    if added is not None:
        root.addHandler(added)
    try:
        yield
    finally:
        root.setLevel(level)
        for handler, formatter in before:
            handler.setFormatter(formatter)
        if added is not None:
            root.removeHandler(added)
            added.close()


def pretty_print_stacktraces(obj: FrameList) -> str:
    """Returns the call stack of an instruction as text, with two lines for each frame."""
    frames = (f'    File "{f.filename}", line {f.lineno}, in {f.name}\n{f.context} \n' for f in obj.items)
    return "".join(("Traceback (most recent call last): \n", *frames, "\n"))


def lift_constant_tensor_pass(ep: ExportedProgram) -> ExportedProgram:
    """Converts constants in graph attributes to inputs of the program, which is changed in place."""
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
    """Returns a program with the new graph and a matching signature."""
    return with_graph_module(exported_program, new_graph_module)


def _get_updated_graph_signature(
    old_signature: ExportGraphSignature, new_gm: GraphModule
) -> ExportGraphSignature:
    """Returns a copy of a signature with the names of the inputs and outputs of a new graph."""
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
    """Returns the size of a dense tensor in bytes."""
    return math.prod(shape) * dtype.itemsize


def contiguous_stride_from_shape(shape: Sequence[IntLike]) -> tuple[IntLike, ...]:
    """Returns the strides, in elements, of a dense row-major tensor."""
    return contiguous_strides(shape)


def dim_order_from_stride(stride: Sequence[IntLike]) -> tuple[int, ...]:
    """Returns the dimensions from the outermost to the innermost.

    Raises:
        RuntimeError: a stride is 0, so that it does not determine the order.
        GuardOnDataDependentSymNode: the order of two symbolic strides is not known.
    """
    if any(isinstance(step, int) and step == 0 for step in stride):
        raise RuntimeError("0 in strides is not supported: it does not determine the order of dimensions")
    order = dim_order_from_strides(stride)
    for outer, inner in pairwise(stride[dim] for dim in order):
        if is_order_unknown(outer, inner):
            bool(outer < inner)  # torch raises the error, which names both strides.
    return order


class LayoutError(ValueError, AssertionError):
    """A layout does not exist. This is also an AssertionError, as in ExecuTorch."""


def get_dim_order(memory_format: torch.memory_format | None, ndim: int) -> list[int] | None:
    """Returns the dim order of a dense tensor with `ndim` dimensions in a memory format.

    None and `torch.preserve_format` have no dim order; the result is then None.

    Raises:
        LayoutError: the memory format does not support this number of dimensions.
    """
    if memory_format in (None, torch.preserve_format):
        return None
    try:
        return list(dim_order_of(memory_format, ndim))
    except ValueError as error:
        raise LayoutError(str(error)) from None


def get_memory_format(dim_order: Sequence[int] | None) -> torch.memory_format:
    """Returns the memory format of a dim order; `torch.preserve_format` for None.

    Raises:
        LayoutError: the dim order has no memory format.
    """
    try:
        return memory_format_of(dim_order)
    except ValueError as error:
        raise LayoutError(str(error)) from None


def stride_from_dim_order(sizes: Sequence[int], dim_order: Sequence[int]) -> list[IntLike]:
    """Returns the strides, in elements, of a dense tensor with a dim order."""
    return list(strides_from_dim_order(sizes, dim_order))


def calculate_aligned_num_bytes(num: int, alignment: int) -> int:
    """Returns the smallest multiple of `alignment` that is at least `num`."""
    return -(-num // alignment) * alignment


class AddressSpaceOverflowException(Exception):
    """An offset has more than 64 bits."""


def make_allocation_info(mem_id: int, mem_offset: int) -> AllocationDetails:
    """Returns an offset in planned memory, in the form of the program file.

    Args:
        mem_id: the number of the memory.
        mem_offset: the offset in bytes.

    Raises:
        ValueError: the offset is negative.
        AddressSpaceOverflowException: the offset has more than 64 bits.
    """
    if mem_offset < 0:
        raise ValueError(f"mem_offset {mem_offset} must not be negative")
    if mem_offset >> 64:
        raise AddressSpaceOverflowException(f"mem_offset {mem_offset} does not fit in 64 bits")
    return AllocationDetails(mem_id, mem_offset & 0xFFFFFFFF, mem_offset >> 32)


def make_tensor_value(
    data_buffer_idx: int, allocation_info: AllocationDetails | None, spec: TensorSpec
) -> Tensor:
    """Returns a tensor in the form of the program file.

    Args:
        data_buffer_idx: the index of the tensor's data; 0 if it has no data.
        allocation_info: the offset in planned memory, or None.
        spec: the tensor spec.
    """
    tensor = make_tensor(spec, data_buffer_idx, planned=False)
    tensor.allocation_info = allocation_info
    return tensor


def get_schema_for_operators(ops: Iterable[str]) -> dict[str, str]:
    """Returns the schemas of operators.

    Args:
        ops: names such as "torch.ops.aten.cat.default".

    Returns:
        The schemas by names such as "aten::cat.default". The text for an unknown operator is
        "<No Schema Found>".
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
    """Returns the name and the value of the argument that an out variant writes.

    If the number of these arguments is not 1, the function returns a list of pairs.
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
    """Disables `__torch_dispatch__` of tensor subclasses within the context."""
    guard = torch._C._DisableTorchDispatch()
    try:
        yield
    finally:
        del guard


def scalar_type_enum(dtype: torch.dtype) -> ScalarType:
    """Returns the scalar type of a dtype in the file format.

    Raises:
        KeyError: the file format has no scalar type for this dtype.
    """
    return SCALAR_TYPES[dtype]


def get_scalar_type(enum: ScalarType) -> torch.dtype:
    """Returns the dtype for a scalar type of the file format.

    Raises:
        KeyError: torch has no dtype for this scalar type.
    """
    return {number: dtype for dtype, number in SCALAR_TYPES.items()}[enum]


def unwrap_op_overload(target: object) -> OpOverload:
    """Returns the torch operator of an operator of any dialect.

    Raises:
        TypeError: the target is not an operator.
    """
    op = aten_op(target)
    if op is None and isinstance(getattr(target, "_op", None), OpOverload):
        return target._op  # type: ignore[no-any-return, attr-defined]
    if op is None:
        raise TypeError(f"{target!r} is not an operator")
    return op


def to_out_variant(op_overload: OpOverload) -> tuple[OpOverload, tuple[str, ...]]:
    """Returns the out variant of an operator, and the names of its out arguments.

    Raises:
        RuntimeError: the operator has no out variant.
    """
    plain = unwrap_op_overload(op_overload)
    if is_out_variant(plain._schema.name, plain._schema.overload_name):
        return plain, get_out_args_from_opoverload(plain)
    variant = find_out_variant(plain)
    if variant is None:
        raise RuntimeError(f"Missing out variant for functional op: {plain._schema}{_near_misses(plain)}")
    return variant.op, tuple(variant.outs)


def _near_misses(op: OpOverload) -> str:
    """Returns text that lists out variants of an operator with other arguments."""
    packet = op.overloadpacket
    near = [getattr(packet, name) for name in packet.overloads()]
    schemas = [
        str(other._schema)
        for other in near
        if is_out_variant(other._schema.name, other._schema.overload_name)
    ]
    if not schemas:
        return ". The operator has no out variant; load the library that defines one"
    return (
        f"\nFound an out variant for operator name {op.name()} but its schema mismatched with functional op."
        f"\nout variants:\t{'; '.join(schemas)}"
    )


def get_out_args_from_opoverload(op_overload: object) -> tuple[str, ...]:
    """Returns the names of the arguments that an out variant writes."""
    return tuple(argument.name for argument in result_arguments(unwrap_op_overload(op_overload)._schema))


def parse_qualified_opname(qualified_opname: str) -> tuple[str, str]:
    """Splits a name such as "aten::add" into namespace and name. The default namespace is "aten"."""
    namespace, _, name = qualified_opname.rpartition("::")
    return namespace or "aten", name


def get_op_overload(qualified_opname: str, overload: str) -> OpOverload:
    """Returns the torch operator with a name such as "aten::add" and the name of an overload."""
    namespace, name = parse_qualified_opname(qualified_opname)
    found: OpOverload = getattr(getattr(getattr(torch.ops, namespace), name), overload or "default")
    return found


def is_out_variant(qualified_opname: str, overload: str) -> bool:
    """Returns whether an operator writes a keyword-only argument."""
    schema = get_op_overload(qualified_opname, overload)._schema
    return any(a.kwarg_only and a.alias_info is not None and a.alias_info.is_write for a in schema.arguments)


def is_inplace_variant(qualified_opname: str, overload: str) -> bool:
    """Returns whether an operator writes its first argument."""
    arguments = get_op_overload(qualified_opname, overload)._schema.arguments
    return bool(arguments) and arguments[0].alias_info is not None and arguments[0].alias_info.is_write


def get_submodule(graph_module: GraphModule, node: Node, arg_index: int) -> tuple[str, torch.nn.Module, Node]:
    """Returns the submodule that a node has as an argument.

    Args:
        graph_module: the module that contains the submodule.
        node: a node with a `get_attr` argument.
        arg_index: the position of this argument.

    Returns:
        The name of the submodule, the submodule, and `node`.

    Raises:
        ValueError: the argument is not a `get_attr` node.
    """
    read = node.args[arg_index]
    if not isinstance(read, Node) or read.op != "get_attr":
        raise ValueError(f"argument {arg_index} of {node.name} is not an attribute of the graph module")
    return str(read.target), graph_module.get_submodule(str(read.target)), node
