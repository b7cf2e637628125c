"""The operators that may write their result over an input whose lifetime ends at this operator.

Each row of the table is a contract for the kernels of all libraries: a kernel reads element i of each
argument in the row before it writes element i of its first result. Arguments that are not in the row must not
share bytes with the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from torch._ops import OpOverload
from torch.fx import Node

from rushlight.ir import meta
from rushlight.ir.edge_ops import aten_op
from rushlight.ir.spec import TensorSpec
from rushlight.memory.op_arguments import argument, result_names, tensor_arguments

_UNARY = """
    abs acos acosh asin asinh atan atanh bitwise_not ceil cos cosh erf exp expm1 floor gelu log log10 log1p
    log2 logical_not logit neg reciprocal relu round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc elu
    leaky_relu clamp hardtanh clone _conj_physical rsub
"""
_BINARY = """
    add sub mul div atan2 fmod remainder floor_divide maximum minimum bitwise_and bitwise_or bitwise_xor
    bitwise_left_shift bitwise_right_shift logical_and logical_or logical_xor eq ne lt le gt ge
"""
WRITES_PARTS = frozenset(
    f"aten::{name}" for name in "index_put scatter scatter_add slice_scatter select_scatter".split()
)
"""Operators that copy `self` and then write a part of the copy. In place, they need no copy."""


class InPlaceRow(NamedTuple):
    """The arguments of an operator, by name, whose bytes its first result may overwrite.

    Attributes:
        sources: the arguments that the result may overwrite.
        elementwise: the arguments that may share bytes with the overwritten argument, because the kernel
            reads element i of them before it writes element i of the result.
    """

    sources: tuple[str, ...]
    elementwise: tuple[str, ...]


def _table() -> dict[str, InPlaceRow]:
    def row(*sources: str, read: tuple[str, ...] = ()) -> InPlaceRow:
        return InPlaceRow(sources, (*sources, *read))

    table = {f"aten::{name}": row("self") for name in _UNARY.split()}
    table.update({f"aten::{name}": row("self", "other") for name in _BINARY.split()})
    table.update({name: row("self") for name in WRITES_PARTS})
    table["aten::masked_fill"] = row("self", read=("mask",))
    table["aten::pow"] = row("self", "exponent")
    table["aten::clamp"] = row("self", "min", "max")
    table["aten::where"] = row("self", "other", read=("condition",))
    table["aten::_softmax"] = row("self")
    table["aten::_native_batch_norm_legit_no_training"] = row("input")
    table["dim_order_ops::_to_dim_order_copy"] = row("self")
    table["dim_order_ops::_clone_dim_order"] = row("self")
    return table


IN_PLACE = _table()
"""The row of each operator, by name without overload; a row is valid for all overloads."""

_NOTHING = InPlaceRow((), ())


def in_place_pairs(node: Node) -> Iterator[tuple[TensorSpec, TensorSpec]]:
    """Yields the (input, result) pairs of a node that may share memory.

    The input has the dtype, dim order and shape of the result. The caller must check that no other node reads
    the input afterwards, see `Aliases.may_compute_in_place`.
    """
    op = aten_op(node.target)
    if op is None:
        return
    row, out_name = _row(op)
    if not row.sources or out_name is None:
        return
    out = node.kwargs.get(out_name)
    if not isinstance(out, Node):
        return
    result = meta.get_spec(out)
    if not isinstance(result, TensorSpec):
        return
    for source in in_place_sources(node):
        spec = meta.get_spec(source)
        if same_elements(source, node, result):
            yield spec, result


def in_place_sources(node: Node) -> list[Node]:
    """Returns the arguments that the first result may overwrite. Shapes and dtypes are not checked."""
    op = aten_op(node.target)
    if op is None or node.op != "call_function":
        return []
    sources = [argument(op, node, name) for name in _row(op)[0].sources]
    return [source for source in sources if isinstance(source, Node)]


def readings(node: Node) -> list[tuple[str, Node]]:
    """Returns (argument name, node) for all nodes that `node` reads; without an operator the name is ""."""
    op = aten_op(node.target)
    if op is None:
        return [("", source) for source in node.all_input_nodes]
    return tensor_arguments(op, node)


def reads_in_step(node: Node, name: str, source: Node, result: TensorSpec) -> bool:
    """Whether the argument `name` of `node` may share memory with the first result, whose spec is `result`.

    They may share memory if they have the same layout, and if the kernel reads each element of the argument
    before it writes this element of the result.
    """
    op = aten_op(node.target)
    return op is not None and name in _row(op)[0].elementwise and same_elements(source, node, result)


@cache
def _row(op: OpOverload) -> tuple[InPlaceRow, str | None]:
    """Returns the row of an operator in the table, and the name of its first out argument."""
    written = result_names(op)
    return IN_PLACE.get(op._schema.name, _NOTHING), written[0] if written else None


def same_elements(source: Node, node: Node, result: TensorSpec) -> bool:
    """Whether the tensor of `source` has the same dtype, dim order and shape as `result`."""
    spec = meta.get_spec(source)
    if not isinstance(spec, TensorSpec):
        return False
    if spec.dtype != result.dtype or tuple(spec.dim_order) != tuple(result.dim_order):
        return False
    if list(spec.shape) != list(result.shape):
        return False
    if spec.is_static_shape_tensor and result.is_static_shape_tensor:
        return True
    # Equal upper bounds do not imply equal shapes at run time.
    here, there = meta.get_tensor(source), _first_tensor(node)
    return here is not None and there is not None and _same_shape(here.shape, there)


def _first_tensor(node: Node) -> object:
    tensor = meta.get_tensor(node)
    if tensor is not None:
        return tensor.shape
    value = meta.get_val(node) if meta.has_val(node) else None
    return value[0].shape if isinstance(value, (list, tuple)) and value else None


def _same_shape(a: object, b: object) -> bool:
    return isinstance(a, tuple) and isinstance(b, tuple) and [_key(x) for x in a] == [_key(y) for y in b]


def _key(dim: object) -> object:
    return dim if isinstance(dim, int) else getattr(getattr(dim, "node", None), "expr", dim)
