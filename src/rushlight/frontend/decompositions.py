"""Decompositions of operators for which torch has none and the runtime has no kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._decomp import get_decompositions
from torch._ops import OpOverload
from torch.fx.experimental.symbolic_shapes import statically_known_true
from torch.nn import functional as F

Decomposition = Callable[..., object]


def _shift(op: Callable[..., torch.Tensor], factor: float) -> Decomposition:
    def decomposed(x: torch.Tensor, count: Any) -> torch.Tensor:
        if x.dtype.is_floating_point:
            return torch.mul(x, torch.pow(factor, count))
        return op(x, count)

    return decomposed


def _convert(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    converted: torch.Tensor = torch.ops.aten._to_copy.default(x, dtype=dtype)
    return converted


def _rrelu(
    x: torch.Tensor,
    noise: torch.Tensor,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    generator: torch.Generator | None = None,
) -> Any:
    if training:
        return NotImplemented
    return torch.ops.aten.leaky_relu.default(x, (lower + upper) / 2), noise


def _index_reduce(
    x: torch.Tensor,
    dim: int,
    index: torch.Tensor,
    source: torch.Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> torch.Tensor:
    shape = [1] * source.dim()
    if shape:
        shape[dim] = -1
    everywhere = index.reshape(shape).expand(source.shape)
    result: torch.Tensor = torch.ops.aten.scatter_reduce.two(
        x, dim, everywhere, source, reduce, include_self=include_self
    )
    return result


def _conj(x: torch.Tensor) -> torch.Tensor:
    conjugate: torch.Tensor = torch.ops.aten._conj_physical.default(x)
    return conjugate


def _addbmm(
    x: torch.Tensor, batch1: torch.Tensor, batch2: torch.Tensor, *, beta: float = 1, alpha: float = 1
) -> torch.Tensor:
    product = torch.bmm(batch1, batch2).sum(0)
    product = product if alpha == 1 else product * alpha
    if beta == 0:
        return product
    return product + (x if beta == 1 else x * beta)


def _pseudo_inverse(
    x: torch.Tensor,
    *,
    atol: torch.Tensor | None = None,
    rtol: torch.Tensor | None = None,
    hermitian: bool = False,
) -> Any:
    """Computes the pseudoinverse. Singular values up to max(atol, rtol * largest value) count as zero."""
    if 0 in x.shape:
        return NotImplemented
    if hermitian:
        values, u = torch.linalg.eigh(x)
        s, vh = values.abs(), torch.sgn(values)[..., None] * u.mT
    else:
        u, s, vh = torch.linalg.svd(x, full_matrices=False)
    least = torch.finfo(x.dtype).eps * max(x.shape[-2:]) if rtol is None else rtol[..., None]
    if atol is not None:
        if rtol is None:
            least = torch.where(atol[..., None] > 0, 0.0, least)
        limit = torch.maximum(atol[..., None], least * s.amax(-1, True))
    else:
        limit = s.amax(-1, True) * least
    inverted = torch.where(s > limit, s.reciprocal(), 0.0)
    return vh.mT @ (inverted[..., None] * u.mT)


def _empty_permuted(
    size: Sequence[int], order: Sequence[int], *, dtype: torch.dtype | None = None, **options: object
) -> torch.Tensor:
    return torch.empty(size, dtype=dtype)


def _drop_error_check(info: torch.Tensor, name: str, *, is_matrix: bool) -> None:
    """Drops the error check, because the kernels report a singular matrix themselves."""


def _put(
    x: torch.Tensor, index: torch.Tensor, source: torch.Tensor, accumulate: bool = False
) -> torch.Tensor:
    index = index.reshape(-1)
    index = torch.where(index < 0, index + x.numel(), index)
    flat = torch.index_put(x.reshape(-1), (index,), source.reshape(-1), accumulate)
    return flat.reshape(x.shape)


def _index_fill(x: torch.Tensor, dim: int, index: torch.Tensor, value: Any) -> torch.Tensor:
    """Calls torch's decomposition with indices that are not negative; it accepts no others."""
    op = torch.ops.aten.index_fill.int_Scalar
    size = x.shape[dim] if x.dim() else 1
    filled: torch.Tensor = get_decompositions([op])[op](
        x, dim, torch.where(index < 0, index + size, index), value
    )
    return filled


def _dist(x: torch.Tensor, y: torch.Tensor, p: float = 2) -> torch.Tensor:
    norm: torch.Tensor = torch.linalg.vector_norm(x - y, p)
    return norm


def _ldexp(x: torch.Tensor, exponent: torch.Tensor) -> torch.Tensor:
    return torch.mul(x, torch.pow(2.0, exponent))


def _nanmedian_of_dim(x: torch.Tensor, dim: int, keepdim: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """Computes the median of the values that are not NaN.

    The median is the lower of two middle values, and NaN if all values are NaN.
    """
    if x.dim() == 0 or not x.dtype.is_floating_point:
        return torch.median(x, dim, keepdim)
    values, order = torch.sort(x, dim)  # NaN last
    count = torch.sum(torch.logical_not(torch.isnan(x)), dim, keepdim=True)
    middle = torch.clamp(torch.div(count - 1, 2, rounding_mode="floor"), min=0)
    value, place = torch.gather(values, dim, middle), torch.gather(order, dim, middle)
    return (value, place) if keepdim else (value.squeeze(dim), place.squeeze(dim))


def _nanmedian(x: torch.Tensor) -> torch.Tensor:
    return _nanmedian_of_dim(x.reshape(-1), 0)[0]


def _householder_product(x: torch.Tensor, tau: torch.Tensor) -> torch.Tensor:
    """Computes the first columns of H1 H2 ... Hk with Hi = I - tau_i v_i v_i^H, as LAPACK's orgqr does.

    The reflections are applied from the last to the first.
    """
    rows, columns = x.shape[-2:]
    product = torch.eye(rows, columns, dtype=x.dtype).expand(x.shape)
    for i in reversed(range(tau.shape[-1])):
        head = torch.cat([torch.zeros_like(x[..., :i, i]), torch.ones_like(x[..., :1, i])], -1)
        v = torch.cat([head, x[..., i + 1 :, i]], -1)[..., None]
        product = product - tau[..., i, None, None] * (v @ (v.mH @ product))
    return product


def _trilinear(
    a: torch.Tensor,
    b: torch.Tensor,
    c: torch.Tensor,
    expand1: Sequence[int],
    expand2: Sequence[int],
    expand3: Sequence[int],
    sumdim: Sequence[int],
    unroll_dim: int = 1,
) -> Any:
    """Multiplies three tensors and sums over `sumdim`.

    `expand1`, `expand2` and `expand3` are the dims that the tensors `a`, `b` and `c` do not have.
    """
    rank = a.dim() + len(expand1)
    letters = [chr(ord("a") + dim) for dim in range(rank)]
    operands = [
        "".join(letters[d] for d in range(rank) if d not in missing)
        for missing in (expand1, expand2, expand3)
    ]
    result = "".join(letters[d] for d in range(rank) if d not in sumdim)
    if set(result) - set("".join(operands)):
        return NotImplemented
    return torch.ops.aten.einsum.default(f"{','.join(operands)}->{result}", [a, b, c])


def _copy_strided(x: torch.Tensor, stride: Sequence[int]) -> torch.Tensor:
    """Ignores the strides, because the memory planner chooses them."""
    return torch.clone(x, memory_format=torch.contiguous_format)


def _with_tensor_operands(op: OpOverload) -> Decomposition:
    """Decomposes `op(number, tensor)` to `op(tensor, tensor)`."""

    def decomposed(number: float, x: torch.Tensor) -> torch.Tensor:
        dtype = torch.result_type(x, number)
        result: torch.Tensor = op(torch.scalar_tensor(number, dtype=dtype), x)
        return result

    return decomposed


def _searchsorted_number(
    places: torch.Tensor,
    number: float,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: torch.Tensor | None = None,
) -> torch.Tensor:
    dtype = torch.result_type(places, number)
    value = torch.scalar_tensor(number, dtype=dtype)
    options = {"out_int32": out_int32, "right": right, "side": side, "sorter": sorter}
    found: torch.Tensor = torch.ops.aten.searchsorted.Tensor(places.to(dtype), value, **options)
    return found


def _int_mm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.mm(a.to(torch.int32), b.to(torch.int32))


def _conv_tbc(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, pad: int = 0) -> torch.Tensor:
    """Convolves an input (time, batch, channels) with a weight (width, channels, new channels)."""
    result = torch.conv1d(x.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return result.permute(2, 0, 1)


def _multilabel_margin_loss(x: torch.Tensor, target: torch.Tensor, reduction: int = 1) -> torch.Tensor:
    """Ignores the labels behind the first -1 of a row; torch's own decomposition treats them as label 0."""
    if x.dim() == 0:
        x, target = x.reshape(1), target.reshape(1)
    count = x.shape[-1]
    places = torch.arange(count)
    end = torch.amin(torch.where(target == -1, places, count), -1, keepdim=True)
    given = places < end
    scores = torch.gather(x, -1, torch.where(given, target, 0))
    is_target = torch.any(torch.where(given, target, -1)[..., None] == places, -2)
    loss = torch.clamp(1.0 - scores[..., None] + x[..., None, :], min=0) / count
    counted = torch.logical_and(given[..., None], torch.logical_not(is_target)[..., None, :])
    loss = torch.where(counted, loss, 0.0).sum((-2, -1))
    return loss if reduction == 0 else loss.mean() if reduction == 1 else loss.sum()


def _logsumexp(x: torch.Tensor, dim: int | Sequence[int], keepdim: bool = False) -> torch.Tensor:
    """Pads dynamic dims with an element -inf before the maximum, because these dims may be empty."""
    dims = {d % x.dim() for d in ([dim] if isinstance(dim, int) else dim)} if x.dim() else set()
    padding = [n for d in reversed(range(x.dim())) for n in (0, int(_is_dynamic(x, d) and d in dims))]
    if not any(padding) or not x.dtype.is_floating_point:
        torchs = get_decompositions([torch.ops.aten.logsumexp.default])
        plain: torch.Tensor = torchs[torch.ops.aten.logsumexp.default](x, dim, keepdim)
        return plain
    largest = F.pad(x, padding, value=-torch.inf).amax(tuple(dims), keepdim=True)
    largest = largest.masked_fill(largest.abs() == torch.inf, 0)
    result = (x - largest).exp().sum(tuple(dims), keepdim=True).log() + largest
    return result if keepdim else result.squeeze(tuple(dims))


def _resample_linearly(
    x: torch.Tensor, output_size: Sequence[int] | None, align_corners: bool, factors: Sequence[float] | None
) -> torch.Tensor:
    """Calls torch's decomposition without scale factors for dims whose size does not change.

    ATen's kernels copy the elements along these dims.
    """
    from torch._decomp.decompositions import _upsample_linear, upsample_compute_output_size

    sizes = upsample_compute_output_size(x.size(), output_size, factors)
    resampled: torch.Tensor = _upsample_linear(x, sizes, align_corners, _factors(x, sizes, factors))
    return resampled


def _resample_linearly_to_sizes(
    x: torch.Tensor, output_size: Sequence[int], align_corners: bool, *factors: float | None
) -> torch.Tensor:
    from torch._decomp.decompositions import _upsample_linear

    resampled: torch.Tensor = _upsample_linear(
        x, output_size, align_corners, _factors(x, output_size, factors)
    )
    return resampled


def _factors(
    x: torch.Tensor, sizes: Sequence[int], factors: Sequence[float | None] | None
) -> list[float | None]:
    given = factors or [None] * len(sizes)
    return [
        None if statically_known_true(size == old) else factor
        for factor, size, old in zip(given, sizes, x.shape[2:], strict=True)
    ]


def _is_dynamic(x: torch.Tensor, dim: int) -> bool:
    return isinstance(x.shape[dim], torch.SymInt)


def _pad_circular(x: torch.Tensor, pad: list[int]) -> torch.Tensor:
    """Concatenates each dimension with its last and first elements. Negative padding removes elements."""
    for i in range(len(pad) // 2):
        dim, (before, after) = x.dim() - 1 - i, pad[2 * i : 2 * i + 2]
        size = x.shape[dim]
        parts = [x.narrow(dim, max(-before, 0), size - max(-before, 0) - max(-after, 0))]
        if before > 0:
            parts.insert(0, x.narrow(dim, size - max(-after, 0) - before, before))
        if after > 0:
            parts.append(x.narrow(dim, max(-before, 0), after))
        x = torch.cat(parts, dim) if len(parts) > 1 else parts[0]
    return x


def _fill_diagonal(x: torch.Tensor, value: float, wrap: bool = False) -> torch.Tensor:
    row, *others = (torch.arange(n).reshape(-1, *[1] * (x.dim() - 1 - dim)) for dim, n in enumerate(x.shape))
    if wrap and x.dim() == 2:
        hit = torch.remainder(row * x.shape[1] + others[0], x.shape[1] + 1) == 0
    else:
        hit = row == others[0]
        for index in others[1:]:
            hit = hit & (row == index)
    return torch.where(hit, torch.full([], value, dtype=x.dtype), x)


FUNCTIONAL: dict[OpOverload, Decomposition] = {torch.ops.aten.fill_diagonal_.default: _fill_diagonal}
"""The new content of the tensor that an in-place operator writes, if torch has no functional operator."""

OWN: dict[OpOverload, Decomposition] = {
    torch.ops.aten.__lshift__.Scalar: _shift(torch.bitwise_left_shift, 2.0),
    torch.ops.aten.__lshift__.Tensor: _shift(torch.bitwise_left_shift, 2.0),
    torch.ops.aten.__rshift__.Scalar: _shift(torch.bitwise_right_shift, 0.5),
    torch.ops.aten.__rshift__.Tensor: _shift(torch.bitwise_right_shift, 0.5),
    torch.ops.prims.convert_element_type.default: _convert,
    torch.ops.aten.rrelu_with_noise_functional.default: _rrelu,
    torch.ops.aten.index_reduce.default: _index_reduce,
    torch.ops.aten._conj.default: _conj,
    torch.ops.aten.addbmm.default: _addbmm,
    torch.ops.aten.linalg_pinv.atol_rtol_tensor: _pseudo_inverse,
    torch.ops.aten.empty_permuted.default: _empty_permuted,
    torch.ops.aten._linalg_check_errors.default: _drop_error_check,
    torch.ops.aten.put.default: _put,
    torch.ops.aten.index_fill.int_Scalar: _index_fill,
    torch.ops.aten.index_fill.int_Tensor: _index_fill,
    torch.ops.aten.dist.default: _dist,
    torch.ops.aten.ldexp.Tensor: _ldexp,
    torch.ops.aten.nanmedian.dim: _nanmedian_of_dim,
    torch.ops.aten.nanmedian.default: _nanmedian,
    torch.ops.aten.linalg_householder_product.default: _householder_product,
    torch.ops.aten.upsample_linear1d.vec: _resample_linearly,
    torch.ops.aten.upsample_trilinear3d.vec: _resample_linearly,
    torch.ops.aten.upsample_linear1d.default: _resample_linearly_to_sizes,
    torch.ops.aten.upsample_trilinear3d.default: _resample_linearly_to_sizes,
    torch.ops.aten.logsumexp.default: _logsumexp,
    torch.ops.aten._trilinear.default: _trilinear,
    torch.ops.prims.copy_strided.default: _copy_strided,
    torch.ops.aten.searchsorted.Scalar: _searchsorted_number,
    torch.ops.aten._int_mm.default: _int_mm,
    torch.ops.aten.conv_tbc.default: _conv_tbc,
    torch.ops.aten.multilabel_margin_loss.default: _multilabel_margin_loss,
    torch.ops.aten._pad_circular.default: _pad_circular,
    **{
        packet.Scalar_Tensor: _with_tensor_operands(packet.Tensor)
        for packet in (
            torch.ops.aten.remainder,
            torch.ops.aten.bitwise_and,
            torch.ops.aten.bitwise_or,
            torch.ops.aten.bitwise_xor,
            torch.ops.aten.bitwise_left_shift,
            torch.ops.aten.bitwise_right_shift,
        )
    },
}
