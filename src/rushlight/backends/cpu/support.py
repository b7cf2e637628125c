"""Which nodes plans can express."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch
from torch.fx import Node

from rushlight.backends.cpu import (
    rules_elementwise,
    rules_images,
    rules_masks,
    rules_recurrent,
    rules_resample,
    rules_rows,
    rules_state,
    rules_views,
)
from rushlight.backends.cpu.folding import Constants
from rushlight.backends.cpu.lowering import RULES
from rushlight.backends.cpu.plan.sizes import is_bounded
from rushlight.backends.cpu.plan.tensor import HALVES, planned_dtype
from rushlight.backends.cpu.quantized import MOVES
from rushlight.backends.cpu.rules_quantized import QUANTIZED
from rushlight.backends.cpu.support_quantized import why_not_product, why_not_quantized, why_not_table
from rushlight.ir import meta
from rushlight.ir.edge_ops import argument, aten_op
from rushlight.ir.sym import bounds, is_symbolic

aten = torch.ops.aten
MAX_RANK = 6
MOST_ROWS = 256  # of the window of a grouped convolution
Check = Callable[[Node, Constants], str | None]
_CHECKS: dict[Any, Check] = {}

# Operators that are kept whole for this backend.
KEPT = (
    aten.linear.default,
    aten.scaled_dot_product_attention.default,
    aten.layer_norm.default,
    aten.rms_norm.default,
    aten.silu.default,
    aten.hardswish.default,
    aten.hardsigmoid.default,
    aten.max_pool2d.default,
    aten.adaptive_avg_pool2d.default,
    aten.matmul.default,
    aten.roll.default,
    aten.lstm.input,
    aten.gru.input,
    aten.prelu.default,
    aten.upsample_nearest1d.vec,
)

# Those that only say where elements are: no part is made for them alone.
VIEWS = frozenset(op for op, lower in RULES.items() if lower.__module__ == rules_views.__name__)
ELEMENTWISE = frozenset(op for op, lower in RULES.items() if lower.__module__ == rules_elementwise.__name__)
MASKS = frozenset(op for op, lower in RULES.items() if lower.__module__ == rules_masks.__name__)
assert rules_images and rules_recurrent and rules_resample and rules_rows


def check(*ops: Any) -> Callable[[Check], Check]:
    """Decorator: the reason why a node of these operators is not taken, None if it is."""

    def register(function: Check) -> Check:
        for op in ops:
            _CHECKS[op] = function
        return function

    return register


def operation(node: Node) -> Any:
    """The ATen overload of a node, or operator.getitem."""
    return node.target if node.target is operator.getitem else aten_op(node.target)


def why_not(node: Node, constants: Constants) -> str | None:
    """Why a plan cannot express the node, None if it can."""
    if constants.is_constant(node):
        return None
    op = operation(node)
    if op not in RULES and op not in QUANTIZED:
        return f"plans have no {op}"
    if op is operator.getitem:
        return None
    for tensor in (t for item in (*node.all_input_nodes, node) for t in _tensors(item)):
        if tensor.dim() > MAX_RANK:
            return f"it has {tensor.dim()} dimensions"
        if not all(is_bounded(size) for size in tensor.shape):
            return "a size of it has no upper bound"
    if op in _PRODUCTS and any(constants.is_constant(n) and 0 in _shape(n) for n in node.all_input_nodes):
        return "its weights are empty"
    if op in QUANTIZED:
        return why_not_quantized(node, constants)
    if _computes_with_symbol(node, op):
        return "it computes with a symbolic number"
    moves = op in VIEWS or op in MASKS or op in rules_state.UPDATES or op is aten.copy.default
    if op in rules_masks.ARITHMETIC and rules_masks.dtype_of(node) in (torch.int64, torch.int32):
        return _same_types(node, node)
    for source in [*node.all_input_nodes, node]:
        fake = meta.get_tensor(source)
        if fake is None or planned_dtype(fake.dtype) is torch.float32:
            continue
        if moves and fake.dtype in (torch.int64, torch.int32, torch.bool):
            continue
        if op in MOVES and fake.dtype in (torch.int8, torch.uint8):
            continue
        if op in _LOOK_UPS and source in _indices(node) and fake.dtype is torch.int64:
            continue
        if op in _MASKED and source is argument(node, 3) and fake.dtype is torch.bool:
            continue
        return f"{source.name} is {fake.dtype}"
    reason = why_not_product(node, constants)
    if reason is not None:
        return reason
    further = _CHECKS.get(op)
    return further(node, constants) if further else None


@cache
def _computed_arguments(op: Any) -> tuple[tuple[int, str], ...]:
    """Positions and names of the arguments that an operator computes with; others are sizes and places."""
    kinds = {"Tensor", "number", "float", "bool"}
    arguments = enumerate(op._schema.arguments)
    return tuple((i, a.name) for i, a in arguments if kinds & set(str(a.type).rstrip("]").split("[")))


def _computes_with_symbol(node: Node, op: Any) -> bool:
    for position, name in _computed_arguments(op):
        value = node.args[position] if position < len(node.args) else node.kwargs.get(name)
        if isinstance(value, Node) and is_symbolic(value.meta.get(meta.VAL)):
            return True
    return False


_PRODUCTS = frozenset(
    {aten.linear.default, aten.addmm.default, aten.mm.default, aten.matmul.default, aten.convolution.default}
)
_LOOK_UPS = frozenset({aten.embedding.default, aten.index.Tensor})


def _indices(node: Node) -> Sequence[Any]:
    given: Any = argument(node, 1)
    return [given] if isinstance(given, Node) else given


_MASKED = frozenset({aten.scaled_dot_product_attention.default})


def _tensors(node: Node) -> list[torch.Tensor]:
    value = node.meta.get(meta.VAL)
    values = value if isinstance(value, (tuple, list)) else [value]
    return [item for item in values if isinstance(item, torch.Tensor)]


def _shape(node: Node) -> Sequence[Any]:
    fake = meta.get_tensor(node)
    return () if fake is None else fake.shape


def _rank(node: Any) -> int:
    fake = meta.get_tensor(node) if isinstance(node, Node) else None
    return -1 if fake is None else fake.dim()


def _static(node: Any) -> bool:
    fake = meta.get_tensor(node) if isinstance(node, Node) else None
    return fake is not None and all(isinstance(size, int) for size in fake.shape)


def _is_empty(weight: Any) -> bool:
    fake = meta.get_tensor(weight) if isinstance(weight, Node) else None
    return fake is not None and fake.numel() == 0


@check(aten.convolution.default)
def _convolution(node: Node, constants: Constants) -> str | None:
    source, weight, bias, stride, padding, dilation, transposed, _, groups = node.args
    if _rank(source) not in (3, 4):
        return f"its input has {_rank(source)} dimensions"
    if not constants.is_constant(weight) or not (bias is None or constants.is_constant(bias)):
        return "its weights are not constant"
    if _is_empty(weight):
        return "its weights are empty"
    if any(int(p) < 0 for p in padding):  # type: ignore[union-attr, arg-type]
        return "its padding is negative"
    if transposed:
        return _transposed(node, [int(d) for d in dilation])  # type: ignore[union-attr, arg-type]
    window = meta.get_tensor(weight)  # type: ignore[arg-type]
    if groups != 1 and window is not None and window.dim() == 4 and window.shape[2] > MOST_ROWS:
        return f"it is grouped and its window has {window.shape[2]} rows"
    return None


def _transposed(node: Node, dilation: list[int]) -> str | None:
    weight: Any = node.args[1]
    if getattr(operation(weight), "namespace", "") == "quantized_decomposed":
        return "it is transposed and its weights are quantized"
    if any(d != 1 for d in dilation):
        return "it is transposed and dilated"
    result = meta.get_tensor(node)
    if result is None or not all(isinstance(size, int) for size in result.shape[1:]):
        return "it is transposed and its image has a dynamic size"
    return "it is transposed and has no output" if 0 in result.shape[1:] else None


@check(aten._native_batch_norm_legit_no_training.default)
def _batch_norm(node: Node, constants: Constants) -> str | None:
    if not all(a is None or constants.is_constant(a) for a in node.args[1:5]):
        return "its statistics are not constant"
    return _first_alone(node)


def _first_alone(node: Node) -> str | None:
    used = [user for user in node.users if user.args[1] != 0 and user.users]
    return "more than its first result is used" if used else None


@check(aten.max_pool2d_with_indices.default)
def _max_pool_indices(node: Node, constants: Constants) -> str | None:
    return "its input is no batch of images" if _rank(node.args[0]) != 4 else _first_alone(node)


@check(aten.max_pool2d.default, aten.avg_pool2d.default)
def _pool(node: Node, constants: Constants) -> str | None:
    if _rank(node.args[0]) != 4:
        return "its input is no batch of images"
    divisor = argument(node, 6)  # of average pooling
    return "its divisor is negative" if divisor is not None and divisor < 0 else None


@check(*rules_resample.NEAREST, *rules_resample.BILINEAR)
def _resample(node: Node, constants: Constants) -> str | None:
    source, result = meta.get_tensor(node.args[0]), meta.get_tensor(node)  # type: ignore[arg-type]
    assert source is not None and result is not None
    if not all(isinstance(size, int) for size in (*source.shape[2:], *result.shape[2:])):
        return "its image has a dynamic size"
    return "its image is empty" if 0 in source.shape[1:] else None


@check(aten._adaptive_avg_pool2d.default, aten.adaptive_avg_pool2d.default)
def _adaptive(node: Node, constants: Constants) -> str | None:
    if _rank(node.args[0]) != 4:
        return "its input is no batch of images"
    source, result = meta.get_tensor(node.args[0]), meta.get_tensor(node)  # type: ignore[arg-type]
    assert source is not None and result is not None
    if tuple(result.shape[2:]) == (1, 1):
        return None
    if not all(isinstance(n, int) for n in (*source.shape[2:], *result.shape[2:])):
        return "its image has a dynamic size"
    if 0 in result.shape:
        return "it has no output"
    if any(a % b for a, b in zip(source.shape[2:], result.shape[2:], strict=True)):
        return "its windows have several sizes"
    return None


@check(aten.linear.default)
def _linear(node: Node, constants: Constants) -> str | None:
    if _rank(node.args[0]) < 1 or not constants.is_constant(node.args[1]):
        return "its weights are not constant"
    if _is_empty(node.args[1]):
        return "its weights are empty"
    bias = argument(node, 2)
    return None if bias is None or constants.is_constant(bias) else "its bias is not constant"


@check(aten.addmm.default)
def _addmm(node: Node, constants: Constants) -> str | None:
    bias, _, weight = node.args[:3]
    if not constants.is_constant(weight) or not constants.is_constant(bias):
        return "its weights are not constant"
    if _is_empty(weight):
        return "its weights are empty"
    if _rank(bias) != 1 or node.kwargs.get("alpha", 1) != 1 or node.kwargs.get("beta", 1) != 1:
        return "its bias is scaled or no row"
    value = constants.value(bias)
    fake = meta.get_tensor(node)
    return (
        None
        if value is not None and fake is not None and value.numel() == fake.shape[1]
        else "its bias is no row"
    )


@check(aten.mm.default, aten.bmm.default, aten.matmul.default)
def _matmul(node: Node, constants: Constants) -> str | None:
    a, b = _rank(node.args[0]), _rank(node.args[1])
    if constants.is_constant(node.args[1]) and b == 2:
        if _is_empty(node.args[1]):
            return "its weights are empty"
        return None if a >= 1 else "its left operand is a scalar"
    return None if 2 <= a <= 4 and 2 <= b <= 4 else f"its operands have {a} and {b} dimensions"


@check(aten.native_layer_norm.default)
def _native_layer_norm(node: Node, constants: Constants) -> str | None:
    return _norm(node, constants) or _first_alone(node)


@check(aten.native_group_norm.default)
def _group_norm(node: Node, constants: Constants) -> str | None:
    source = meta.get_tensor(node.args[0])  # type: ignore[arg-type]
    assert source is not None
    if not all(isinstance(size, int) for size in source.shape[1:]) or 0 in source.shape[1:]:
        return "its images have a dynamic size or none"
    if not all(a is None or constants.is_constant(a) for a in node.args[1:3]):
        return "its weights are not constant"
    return _first_alone(node)


@check(aten.roll.default)
def _roll(node: Node, constants: Constants) -> str | None:
    axes: Any = argument(node, 2)
    if not axes or not all(isinstance(shift, int) for shift in node.args[1]):  # type: ignore[union-attr]
        return "it rolls over all dimensions, or by a symbolic number"
    source = meta.get_tensor(node.args[0])  # type: ignore[arg-type]
    assert source is not None
    return None if all(isinstance(source.shape[a], int) for a in axes) else "it rolls over a dynamic size"


@check(aten.layer_norm.default, aten.rms_norm.default)
def _norm(node: Node, constants: Constants) -> str | None:
    shape: Any = node.args[1]
    if not all(isinstance(size, int) for size in shape):
        return "its rows have a dynamic length"
    weights = [argument(node, 2)] + ([argument(node, 3)] if "layer_norm" in str(node.target) else [])
    return (
        None
        if all(w is None or constants.is_constant(w) for w in weights)
        else "its weights are not constant"
    )


@check(aten._softmax.default, aten._log_softmax.default)
def _softmax(node: Node, constants: Constants) -> str | None:
    return None if _rank(node.args[0]) >= 1 else "its input is a scalar"


@check(aten.sum.dim_IntList, aten.mean.dim)
def _reduce(node: Node, constants: Constants) -> str | None:
    if node.kwargs.get("dtype") not in (None, torch.float32, *HALVES):
        return "its result has another type"
    return None if _rank(node.args[0]) >= 1 else "its input is a scalar"


@check(aten.amax.default, aten.amin.default)
def _extreme(node: Node, constants: Constants) -> str | None:
    return None if _rank(node.args[0]) >= 1 else "its input is a scalar"


@check(aten.scaled_dot_product_attention.default)
def _attention(node: Node, constants: Constants) -> str | None:
    if argument(node, 4, 0.0) != 0.0:
        return "it drops out"
    ranks = {_rank(n) for n in node.args[:3]}
    if len(ranks) != 1 or ranks - {3, 4}:
        return "its operands have other than 3 or 4 dimensions"
    query, key, value = (meta.get_tensor(n) for n in node.args[:3])  # type: ignore[arg-type]
    assert query is not None and key is not None and value is not None
    if not all(isinstance(size, int) for size in (query.shape[-1], value.shape[-1])):
        return "its heads have a dynamic width"
    if any(t.shape[0] is not query.shape[0] and t.shape[0] != query.shape[0] for t in (key, value)):
        return "its operands are broadcast"
    if query.dim() == 4:
        heads = [t.shape[1] for t in (query, key, value)]
        if not all(isinstance(h, int) for h in heads) or heads[1] != heads[2] or heads[0] % heads[1]:
            return "its heads do not fit"
    return None


@check(aten.lstm.input, aten.gru.input)
def _recurrent(node: Node, constants: Constants) -> str | None:
    arguments: Any = node.args
    weights = arguments[2]
    if not all(constants.is_constant(item) for item in weights):
        return "its weights are not constant"
    if arguments[6]:
        return "it is in training"
    if len(weights) != (4 if arguments[3] else 2) * int(arguments[4]) * (2 if arguments[7] else 1):
        return "its states are projected"
    return None if _rank(arguments[0]) == 3 else "its input is no batch of sequences"


def _same_types(node: Node, result: Node | None = None) -> str | None:
    """Whether both operands have one type, numbers that of the other, and the result too if it is given."""
    if argument(node, 2, 1) != 1 and aten_op(node.target) in rules_masks.ARITHMETIC:
        return "it multiplies whole numbers as it adds them"
    types = {rules_masks.dtype_of(item) for item in node.all_input_nodes} | {
        rules_masks.dtype_of(item) for item in (result,) if item is not None
    }
    if len(types) != 1 or None in types:
        return "its operands have several types"
    is_whole = types != {torch.float32}
    numbers = [item for item in node.args[:2] if not isinstance(item, Node)]
    if any(not isinstance(item, int) if is_whole else not isinstance(item, (int, float)) for item in numbers):
        return "it compares whole numbers with one that is not"
    return None


@check(*rules_masks.COMPARISONS)
def _comparison(node: Node, constants: Constants) -> str | None:
    return _same_types(node)


@check(*rules_masks.LOGIC, *rules_masks.NOT)
def _logic(node: Node, constants: Constants) -> str | None:
    types = {rules_masks.dtype_of(item) for item in node.all_input_nodes}
    return None if types == {torch.bool} else "its operands are no truth values"


@check(aten.where.self)
def _where(node: Node, constants: Constants) -> str | None:
    types = [rules_masks.dtype_of(item) for item in node.args]
    if types[0] is not torch.bool:
        return "its condition is no truth value"
    return None if types[1] is types[2] else "its operands have several types"


@check(aten.index_put.default)
def _index_put(node: Node, constants: Constants) -> str | None:
    arguments: Any = node.args
    given = [item for item in arguments[1] if item is not None]
    if len(given) != 1 or _rank(given[0]) != 1 or rules_masks.dtype_of(given[0]) is not torch.int64:
        return "its indices are not one row of whole numbers"
    return "it accumulates" if argument(node, 3, False) else _same_source(arguments[0], arguments[2])


@check(aten.index_copy.default)
def _index_copy(node: Node, constants: Constants) -> str | None:
    target, _, index, source = node.args
    if _rank(target) < 1 or _rank(index) != 1:
        return "its indices are not one row of whole numbers"
    return _same_source(target, source)  # type: ignore[arg-type]


@check(aten.index.Tensor)
def _index(node: Node, constants: Constants) -> str | None:
    source, indices = node.args
    if len(indices) != 1 or _rank(source) < 1:  # type: ignore[arg-type]
        return "it chooses along other than its first dimension"
    fake = meta.get_tensor(source)  # type: ignore[arg-type]
    assert fake is not None
    return None if all(isinstance(size, int) for size in fake.shape[1:]) else "its rows have a dynamic length"


def _same_source(target: Node, source: Node) -> str | None:
    same = rules_masks.dtype_of(target) is rules_masks.dtype_of(source)
    return None if same else "it writes elements of another type"


@check(aten.slice_scatter.default, aten.select_scatter.default)
def _scatter(node: Node, constants: Constants) -> str | None:
    arguments: Any = node.args
    reason = _same_source(arguments[0], arguments[1])
    if reason is not None:
        return reason
    if aten_op(node.target) is aten.select_scatter.default:
        return None if isinstance(arguments[3], int) else "its index is symbolic"
    return _places(arguments[0], arguments[1], argument(node, 2, 0), argument(node, 3), argument(node, 5))


@check(aten.copy.default)
def _copy(node: Node, constants: Constants) -> str | None:
    arguments: Any = node.args
    return _same_source(arguments[0], arguments[1])


def _places(whole: Node, part: Node, axis: Any, start: Any, step: Any) -> str | None:
    """Whether a slice of `whole`, of the shape of `part`, begins where a plan can say."""
    if step not in (None, 1) and not isinstance(step, int):
        return "its step is symbolic"
    if start is None or isinstance(start, int):
        return None
    a, b = meta.get_tensor(whole), meta.get_tensor(part)
    value = start.meta.get(meta.VAL) if isinstance(start, Node) else None
    if a is None or b is None or not isinstance(value, torch.SymInt) or not is_bounded(value):
        return "it begins at a place without bounds"
    size, length = a.shape[axis], b.shape[axis]
    low, high = bounds(value)
    if low < 0 or high is None or not isinstance(size, int) or not isinstance(length, int):
        return "it begins at a place without bounds"
    return None if high + (length - 1) * (step or 1) < size else "it may end beyond the tensor"


@check(aten.full.default)
def _full(node: Node, constants: Constants) -> str | None:
    return None if isinstance(node.args[1], (int, float, bool)) else "its value is symbolic"


@check(aten.embedding.default)
def _embedding(node: Node, constants: Constants) -> str | None:
    if getattr(operation(node.args[0]), "namespace", "") == "quantized_decomposed":  # type: ignore[arg-type]
        return why_not_table(node.args[0], constants)  # type: ignore[arg-type]
    return None if constants.is_constant(node.args[0]) else "its table is not constant"


@check(aten.prelu.default)
def _prelu(node: Node, constants: Constants) -> str | None:
    return None if constants.is_constant(node.args[1]) else "its slopes are not constant"


@check(aten.pow.Tensor_Scalar)
def _pow(node: Node, constants: Constants) -> str | None:
    exponent = node.args[1]
    ok = isinstance(exponent, (int, float)) and float(exponent) in rules_elementwise.POWERS
    return None if ok else f"its exponent is {exponent}"


@check(aten.clamp.default, aten.hardtanh.default)
def _clamp(node: Node, constants: Constants) -> str | None:
    numbers = [argument(node, 1), argument(node, 2)]
    return (
        None if all(n is None or isinstance(n, (int, float)) for n in numbers) else "its bounds are symbolic"
    )


@check(aten.add.Tensor, aten.sub.Tensor, aten.add.Scalar, aten.sub.Scalar)
def _add(node: Node, constants: Constants) -> str | None:
    return None if isinstance(argument(node, 2, 1), (int, float)) else "its factor is symbolic"


@check(aten.slice_copy.Tensor)
def _slice(node: Node, constants: Constants) -> str | None:
    source: Any = node.args[0]
    return _places(source, node, argument(node, 1, 0), argument(node, 2), argument(node, 4))


@check(aten.select_copy.int)
def _select(node: Node, constants: Constants) -> str | None:
    return None if isinstance(node.args[2], int) else "its index is symbolic"


@check(aten.split_with_sizes_copy.default, aten.split_copy.Tensor, aten.unbind_copy.int)
def _split(node: Node, constants: Constants) -> str | None:
    return None if _static(node.args[0]) else "its input has a dynamic size"


@check(aten.cat.default)
def _cat(node: Node, constants: Constants) -> str | None:
    types = {rules_masks.dtype_of(item) for item in (*node.all_input_nodes, node)}
    return None if len(types) == 1 else "its operands have several types"


@check(aten.constant_pad_nd.default)
def _pad(node: Node, constants: Constants) -> str | None:
    pads: Any = node.args[1]
    if not all(isinstance(p, int) and p >= 0 for p in pads):
        return "its padding is negative or symbolic"
    return None if isinstance(argument(node, 2, 0) or 0, (int, float)) else "its value is symbolic"


@check(torch.ops.dim_order_ops._to_dim_order_copy.default)
def _convert(node: Node, constants: Constants) -> str | None:
    source, result = rules_masks.dtype_of(node.args[0]), rules_masks.dtype_of(node)
    return None if source is result or source is torch.bool else "it converts"
