"""Lowers matrix products."""

from __future__ import annotations

import torch
from torch.fx import Node

from rushlight.backends.cpu.lower.attention import as_rank_4, decomposed_attention
from rushlight.backends.cpu.lower.lowering import ChainBuilder, Lowering
from rushlight.backends.cpu.lower.nodes import is_empty, rank_of
from rushlight.backends.cpu.lower.row import Row
from rushlight.backends.cpu.plan.int8 import GroupedWeight, WeightOnlyLinear
from rushlight.backends.cpu.plan.node import Chain, Convolution
from rushlight.backends.cpu.plan.sizes import product, same
from rushlight.backends.cpu.plan.tables import BinaryFunction, MatMul
from rushlight.backends.cpu.plan.tensor import Tensor, constant
from rushlight.ir import meta
from rushlight.ir.constants import Constants
from rushlight.ir.edge_ops import argument

aten = torch.ops.aten

_MAX_PLANES = 16
"""The most inputs and outputs of a product that is computed on planes."""
_MIN_RESULTS = 8
"""The least results for each element of the batch for which a sum of products becomes a matrix product."""
_MIN_PLANE = 256
"""The least elements of a plane. With fewer elements, the steps take as long as the copies."""


def product_of(
    lowering: Lowering,
    node: Node,
    x: Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    weight_dtype: torch.dtype | None = None,
) -> Tensor:
    """Emits x @ weight.T + bias, and returns its row-major result.

    Args:
        lowering: the steps emitted so far.
        node: the node that the step computes.
        x: the LHS [.., k].
        weight: [n, k].
        bias: [n], or None.
        weight_dtype: the dtype in which the file stores the weight. The default is the result of
            `stored_dtype`.
    """
    sizes = (*x.sizes[:-1], weight.shape[0])
    rows = product(x.sizes[:-1])
    inner = lowering.with_innermost(x, x.rank - 1, node)
    flat = lowering.reshape(inner, (1, 1, rows, x.sizes[-1]), node)
    out = lowering.new_tensor(sizes)
    view = out.view((1, 1, rows, sizes[-1]))
    assert view is not None
    step = Convolution(
        input=flat,
        output=view,
        weight=weight.detach().float()[:, :, None, None],
        bias=None if bias is None else bias.detach().float(),
        weight_dtype=lowering.stored_dtype(weight) if weight_dtype is None else weight_dtype,
        rounds_input=weight.dtype is torch.bfloat16,
        is_linear=True,
    )
    lowering.emit(step, node)
    return out


def weight_only_product_of(
    lowering: Lowering, node: Node, x: Tensor, weight: GroupedWeight, bias: torch.Tensor | None
) -> Tensor:
    """Emits x @ weight.T + bias for a matrix of 8-bit or 4-bit numbers, and returns its row-major result.

    Args:
        lowering: the steps emitted so far.
        node: the node that the step computes.
        x: the float32 LHS [.., k].
        weight: [n, k].
        bias: [n], or None.
    """
    left = lowering.contiguous(x, node)
    out = lowering.new_tensor((*x.sizes[:-1], weight.values.shape[0]))
    step = WeightOnlyLinear(
        input=rows_as_image(left),
        output=rows_as_image(out),
        weight=weight.values[:, :, None, None],
        bias=bias,
        grouped=weight,
    )
    lowering.emit(step, node)
    return out


def rows_as_image(tensor: Tensor) -> Tensor:
    """Returns a row-major tensor [.., columns] as a view [1, 1, rows, columns]."""
    image = tensor.view((1, 1, product(tensor.sizes[:-1]), tensor.sizes[-1]))
    assert image is not None
    return image


def _product(
    lowering: Lowering, node: Node, source: object, weight: torch.Tensor, bias: torch.Tensor | None
) -> None:
    x = lowering.tensor(source)
    planes = _few_planes(x, weight)
    if planes is None:
        lowering.set_tensor(node, product_of(lowering, node, x, weight, bias))
        return
    out = _product_of_planes(lowering, node, planes, weight, bias)
    views = out.view((x.sizes[0], weight.shape[0], *x.sizes[1:-1]))
    assert views is not None
    lowering.set_tensor(node, views.permute((0, *range(2, x.rank), 1)))


def _few_planes(x: Tensor, weight: torch.Tensor) -> Tensor | None:
    """Returns the LHS [b, .., k] of a product as [b, k, rows], if its memory consists of a few planes.

    This is the memory order of scores [b, heads, t, s] whose heads a linear layer mixes. A GEMM over rows
    would need copies to the other memory order and back, which take longer than the product.
    """
    if x.rank < 3 or x.dtype is not torch.float32 or weight.dtype is not torch.float32:
        return None
    if max(weight.shape) > _MAX_PLANES or not all(isinstance(size, int) for size in x.sizes):
        return None
    rows = product(x.sizes[1:-1])
    planes = x.permute((0, x.rank - 1, *range(1, x.rank - 1))).view((x.sizes[0], x.sizes[-1], rows))
    if planes is None or not same(planes.strides[-1], 1) or int(rows) < _MIN_PLANE:
        return None
    return planes


def _product_of_planes(
    lowering: Lowering, node: Node, planes: Tensor, weight: torch.Tensor, bias: torch.Tensor | None
) -> Tensor:
    """Emits weight @ planes + bias.

    Args:
        lowering: the steps emitted so far.
        node: the node that the steps compute.
        planes: the RHS [b, k, rows].
        weight: [n, k].
        bias: [n], or None.

    Returns:
        The result [b, n, rows].
    """
    sizes = (planes.sizes[0], weight.shape[0], planes.sizes[2])
    matrices = constant(weight.detach()).expand((planes.sizes[0], *weight.shape))
    out = lowering.new_tensor(sizes)
    lowering.emit(MatMul(a=as_rank_4(matrices), b=as_rank_4(planes), output=as_rank_4(out)), node)
    if bias is None:
        return out
    chain = ChainBuilder(lowering, node, sizes)
    chain.add(BinaryFunction.ADD, chain.operand(out), chain.operand(constant(bias.detach().float()[:, None])))
    chain.finish()
    return lowering.tensor(node)


def linear(lowering: Lowering, node: Node) -> None:
    """Lowers linear with a constant weight [n, k] and an optional constant bias [n]."""
    weight = lowering.constant_value(node.args[1])
    assert weight is not None
    _product(lowering, node, node.args[0], weight, lowering.constant_value(argument(node, 2)))


def addmm(lowering: Lowering, node: Node) -> None:
    """Lowers bias [n] + x [m, k] @ weight [k, n] with constant bias and weight."""
    bias = lowering.constant_value(node.args[0])
    weight = lowering.constant_value(node.args[2])
    assert weight is not None
    _product(lowering, node, node.args[1], weight.t(), bias)


def matmul(lowering: Lowering, node: Node) -> None:
    """Lowers a matrix product with broadcast batch dimensions.

    A product with a constant matrix is lowered as a linear layer without bias. A product of a softmax with
    values is lowered as attention if `decomposed_attention` finds all its parts.
    """
    weight = lowering.constant_value(node.args[1])
    if weight is not None and weight.dim() == 2:
        _product(lowering, node, node.args[0], weight.t(), None)
        return
    if decomposed_attention(lowering, node):
        return
    a, b = lowering.tensor(node.args[0]), lowering.tensor(node.args[1])
    sizes = lowering.sizes(node)
    out = lowering.new_tensor(sizes)
    batch = sizes[:-2]
    a = lowering.with_innermost(a, a.rank - 1, node).expand((*batch, *a.sizes[-2:]))
    b = b.expand((*batch, *b.sizes[-2:]))
    if not same(b.strides[-1], 1) and not same(b.strides[-2], 1):
        b = lowering.with_innermost(b, b.rank - 1, node)
    lowering.emit(MatMul(a=as_rank_4(a), b=as_rank_4(b), output=as_rank_4(out)), node)
    lowering.set_tensor(node, out)


def sum_of_products(lowering: Lowering, node: Node, axis: int) -> Tensor | None:
    """Lowers the sum of a * b over one dimension to a matrix product, if a or b is broadcast.

    For example, torch.export writes a product of a matrix and a vector in this form. The dimensions that only
    a has are the rows of the product, those that only b has are its columns, and those of both are its batch.

    Args:
        lowering: the steps emitted so far.
        node: the sum.
        axis: the dimension.

    Returns:
        The result, in which the dimension has size 1; None if the sum does not have this form.
    """
    step = lowering.sole_writer(node.args[0], node)
    chain = None if step is None else step.of(Chain)
    if step is None or chain is None or not _is_product(chain) or not lowering.aliases.may_run_later(step):
        return None
    a, b = chain.inputs
    kept = [i for i in range(a.rank) if i != axis and not same(a.sizes[i], 1)]
    rows = [i for i in kept if same(b.strides[i], 0) and not same(a.strides[i], 0)]
    columns = [i for i in kept if same(a.strides[i], 0)]
    batch = [i for i in kept if i not in (*rows, *columns)]
    if not rows:
        a, b, rows, columns = b, a, columns, rows
    results = lowering.symbols.upper(product(a.sizes[i] for i in (*rows, *columns)))
    if len(batch) > 1 or results < _MIN_RESULTS or same(a.strides[axis], 0) or same(b.strides[axis], 0):
        return None
    left, right = (_matrices(t, batch, own, axis) for t, own in ((a, rows), (b, columns)))
    if left is None or right is None:
        return None
    order = [*(i for i in range(a.rank) if i not in (*rows, *columns)), *rows, *columns]
    out = lowering.new_tensor([1 if i == axis else size for i, size in enumerate(a.sizes)], order)
    target = out.permute(order).view((*left.sizes[:2], right.sizes[1]))
    assert target is not None
    lowering.remove_step(step)
    left = lowering.with_innermost(left, 2, node)
    if not same(right.strides[1], 1) and not same(right.strides[2], 1):
        right = lowering.with_innermost(right, 2, node)
    matmul = MatMul(a=as_rank_4(left), b=as_rank_4(right.permute((0, 2, 1))), output=as_rank_4(target))
    lowering.emit(matmul, node, step.nodes)
    return out


def _is_product(chain: Chain) -> bool:
    """Returns whether a chain multiplies two tensors of float32."""
    is_product = len(chain.inputs) == 2 and [item.function for item in chain.code] == [BinaryFunction.MUL]
    return is_product and all(t.dtype is torch.float32 for t in (*chain.inputs, chain.output))


def _matrices(tensor: Tensor, batch: list[int], own: list[int], axis: int) -> Tensor | None:
    """Returns a view [batch, product of the dimensions `own`, size of `axis`], or None if there is none."""
    for i in range(tensor.rank):
        if i not in (*batch, *own, axis):
            tensor = tensor.narrow(i, 0, 1)
    others = [i for i in range(tensor.rank) if i not in (*batch, *own, axis)]
    sizes = (
        product(tensor.sizes[i] for i in batch),
        product(tensor.sizes[i] for i in own),
        tensor.sizes[axis],
    )
    return tensor.permute((*others, *batch, *own, axis)).view(sizes)


# Checks: each returns the reason why a node is refused, or None.


def check_linear(node: Node, constants: Constants) -> str | None:
    """Refuses the node if the weight or bias is not constant, or the weight is empty."""
    if rank_of(node.args[0]) < 1 or not constants.is_constant(node.args[1]):
        return "its weights are not constant"
    if is_empty(node.args[1]):
        return "its weights are empty"
    bias = argument(node, 2)
    return None if bias is None or constants.is_constant(bias) else "its bias is not constant"


def check_addmm(node: Node, constants: Constants) -> str | None:
    """Refuses the node if the weight or bias is not constant, or has an unsupported shape."""
    bias, _, weight = node.args[:3]
    if not constants.is_constant(weight) or not constants.is_constant(bias):
        return "its weights are not constant"
    if is_empty(weight):
        return "its weights are empty"
    if rank_of(bias) != 1 or node.kwargs.get("alpha", 1) != 1 or node.kwargs.get("beta", 1) != 1:
        return "its bias is scaled or is not a row"
    value = constants.value(bias)
    fake = meta.get_tensor(node)
    return (
        None
        if value is not None and fake is not None and value.numel() == fake.shape[1]
        else "its bias is not a row"
    )


def check_matmul(node: Node, constants: Constants) -> str | None:
    """Refuses the node if a rank is not supported.

    Operands have 2 to 4 dimensions; with a constant matrix on the right, the left one has at least 1.
    """
    a, b = rank_of(node.args[0]), rank_of(node.args[1])
    if constants.is_constant(node.args[1]) and b == 2:
        if is_empty(node.args[1]):
            return "its weights are empty"
        return None if a >= 1 else "its left operand is a scalar"
    return None if 2 <= a <= 4 and 2 <= b <= 4 else f"its operands have {a} and {b} dimensions"


ROWS: dict[object, Row] = {
    aten.linear.default: Row(check_linear, linear),
    aten.addmm.default: Row(check_addmm, addmm),
    aten.mm.default: Row(check_matmul, matmul),
    aten.bmm.default: Row(check_matmul, matmul),
    aten.matmul.default: Row(check_matmul, matmul),
}
