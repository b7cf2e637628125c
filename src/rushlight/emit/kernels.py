"""Emits operators as kernel calls. Their arguments are those of the schema in order, then the results."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch._ops import OpOverload
from torch.fx import Node
from torch.utils import _pytree as pytree

from rushlight.emit.errors import at_node
from rushlight.emit.state import MethodState
from rushlight.emit.tensors import SCALAR_TYPES, empty_tensor
from rushlight.emit.values import Emitted, Ref
from rushlight.format.program import Bool, Double, Int, KernelTypes, OptionalTensorList, TensorList
from rushlight.ir import meta
from rushlight.ir.out_variants import is_out_variant, result_arguments
from rushlight.ir.report import Refusal
from rushlight.ir.spec import TensorSpec

Lookup = Callable[[object], Emitted]

_DTYPE_NAMES = {number: str(dtype).removeprefix("torch.") for dtype, number in SCALAR_TYPES.items()}

# Operators that tell the compiler the range of an integer. The runtime does not need them.
_RANGE_HINTS = frozenset(
    {torch.ops.aten.sym_constrain_range.default, torch.ops.aten.sym_constrain_range_for_size.default}
)


def emit_operator(state: MethodState, node: Node, op: OpOverload, lookup: Lookup) -> Emitted:
    """Emits a call of an operator.

    Args:
        state: the state of the method, which receives the instruction.
        node: the node that calls the operator.
        op: the operator.
        lookup: returns the emitted value of an argument of the node.

    Returns:
        The results.
    """
    if op in _RANGE_HINTS:
        return None
    schema = op._schema
    arguments: list[Ref] = []
    written: list[Emitted] = []
    result_names = {argument.name for argument in result_arguments(schema)}
    for position, argument in enumerate(schema.arguments):
        if argument.name in node.kwargs:
            value = lookup(node.kwargs[argument.name])
        elif not argument.kwarg_only and position < len(node.args):
            value = lookup(node.args[position])
        else:
            value = argument.default_value
        if value is None and isinstance(argument.type, torch.TensorType):
            # This result is not computed, but kernels require the same dtype for all results.
            dtypes = [spec.dtype for spec in meta.tensor_specs(node)]
            value = state.values.fresh(empty_tensor(dtypes[0] if dtypes else torch.uint8))
        arguments.append(state.values.constant(value, argument.type))
        if argument.name in result_names:
            written.append(value)
    results = _results(state, node, op, written)
    schema_count = len(arguments)
    arguments.extend(_result_arguments(state, results))
    overload = "" if op._overloadname == "default" else op._overloadname
    # A result that is also an argument is twice in the call. The check needs it only once.
    _check_target(state, node, op, arguments[:schema_count] if written else arguments)
    state.call(schema.name, overload, arguments, node)
    return results


def _results(state: MethodState, node: Node, op: OpOverload, written: list[Emitted]) -> Emitted:
    returns = len(op._schema.returns)
    if is_out_variant(op) or (written and returns):
        return written[0] if len(written) == 1 else written
    if not returns:
        return None
    spec = meta.get_spec(node)
    if returns == 1 and not meta.tensor_specs(node):
        return state.values.fresh(scalar_placeholder(meta.get_val(node)))
    if isinstance(spec, TensorSpec):
        return state.values.of_spec(spec)
    return [_result(state, node, item) for item in spec]


def _result(state: MethodState, node: Node, spec: object) -> Emitted:
    if isinstance(spec, TensorSpec):
        return state.values.of_spec(spec)
    raise at_node(node, f"a result must have a TensorSpec, not {spec!r}")


def _result_arguments(state: MethodState, results: Emitted) -> list[Ref]:
    """The arguments of a call after those of the schema: the single result, or a list of all results."""
    if results is None:
        return []
    if isinstance(results, Ref):
        return [results]
    refs = [r for r in pytree.tree_leaves(results) if isinstance(r, Ref)]
    return [state.values.constant(refs, torch.ListType(torch.TensorType.get()))]


def scalar_placeholder(value: object) -> KernelTypes:
    """Returns the value of a scalar result before the kernel computes it."""
    if isinstance(value, (bool, torch.SymBool)):
        return Bool(False)
    if isinstance(value, (float, torch.SymFloat)):
        return Double(0.0)
    return Int(0)


def _check_target(state: MethodState, node: Node, op: OpOverload, arguments: Sequence[Ref]) -> None:
    """Records a `Refusal` if the target has no kernel for the operator with these dtypes."""
    table = state.options.target
    if table is None:
        return
    schema = op._schema
    name = schema.name if op._overloadname == "default" else f"{schema.name}.{op._overloadname}"
    dtypes = _dtypes(state, arguments)
    if name not in table:
        if not table.trusts_unknown:
            state.refusals.append(Refusal(name, dtypes[0][1] if dtypes else "-", _where(node), _remedy(name)))
        return
    found = table.mismatch(name, dtypes)
    if found is None:
        return
    outs = len(schema.arguments) <= found.argument
    argument = "result" if outs else schema.arguments[found.argument].name
    supported = ", ".join(sorted(found.taken))
    state.refusals.append(
        Refusal(name, f"{argument}: {found.dtype}", _where(node), f"cast to one of {supported}")
    )


def _dtypes(state: MethodState, arguments: Sequence[Ref]) -> list[tuple[int, str]]:
    """The positions and dtypes of all tensors in the arguments, including tensors in lists."""
    found = []
    for position, ref in enumerate(arguments):
        value = state.values.items[ref.index].val
        items = value.items if isinstance(value, (TensorList, OptionalTensorList)) else [ref.index]
        for item in items:
            tensor = state.values.tensor(Ref(item)) if item >= 0 else None
            if tensor is not None:
                found.append((position, _DTYPE_NAMES[tensor.scalar_type]))
    return found


def _where(node: Node) -> str:
    source = meta.source_of(node)
    return f"{source}: {source.code}" if source is not None else node.name


def _remedy(name: str) -> str:
    if not name.startswith(("aten::", "dim_order_ops::", "executorch_prim::")):
        return (
            "load the library with its kernel with rushlight.load_library before compiling, or declare the "
            f"kernel: ExecutorchBackendConfig(target=host_kernel_table().with_operators([{name!r}]))"
        )
    return "delegate it, decompose it in the model, or choose a target with more kernels"
