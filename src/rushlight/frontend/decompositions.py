"""Decompositions of our own: of operators that torch leaves or makes and the runtime has no kernel for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Decomposition = Callable[..., Any]


def _shift(op: Any, factor: float) -> Decomposition:
    def decomposed(x: torch.Tensor, count: Any) -> torch.Tensor:
        if x.dtype.is_floating_point:
            return torch.mul(x, torch.pow(factor, count))
        shifted: torch.Tensor = op(x, count)
        return shifted

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
    generator: Any = None,
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
    x: torch.Tensor, batch1: torch.Tensor, batch2: torch.Tensor, *, beta: Any = 1, alpha: Any = 1
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
    """Singular values at most max(atol, rtol * the largest) count as zero."""
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


def _empty_permuted(size: Any, order: Any, *, dtype: Any = None, **options: Any) -> torch.Tensor:
    return torch.empty(size, dtype=dtype)


def _checked_elsewhere(info: torch.Tensor, name: str, *, is_matrix: bool) -> None:
    """Kernels report a singular matrix themselves."""


def _put(
    x: torch.Tensor, index: torch.Tensor, source: torch.Tensor, accumulate: bool = False
) -> torch.Tensor:
    index = index.reshape(-1)
    index = torch.where(index < 0, index + x.numel(), index)
    flat = torch.index_put(x.reshape(-1), (index,), source.reshape(-1), accumulate)
    return flat.reshape(x.shape)


def _dist(x: torch.Tensor, y: torch.Tensor, p: Any = 2) -> torch.Tensor:
    norm: torch.Tensor = torch.linalg.vector_norm(x - y, p)
    return norm


def _ldexp(x: torch.Tensor, exponent: torch.Tensor) -> torch.Tensor:
    return torch.mul(x, torch.pow(2.0, exponent))


def _nanmedian_of_dim(x: torch.Tensor, dim: int, keepdim: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """The lower of two middle values; NaN where there is nothing else."""
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
    """The first columns of H1 H2 ... Hk, Hi = I - tau_i v_i v_i^H (LAPACK's orgqr), applied from the last."""
    rows, columns = x.shape[-2:]
    product = torch.eye(rows, columns, dtype=x.dtype).expand(x.shape)
    for i in reversed(range(tau.shape[-1])):
        head = torch.cat([torch.zeros_like(x[..., :i, i]), torch.ones_like(x[..., :1, i])], -1)
        v = torch.cat([head, x[..., i + 1 :, i]], -1)[..., None]
        product = product - tau[..., i, None, None] * (v @ (v.mH @ product))
    return product


def _exponential(x: torch.Tensor, lambd: float = 1.0, *, generator: Any = None) -> torch.Tensor:
    """By the inverse of its distribution; rand is below 1, so that the logarithm is finite."""
    return torch.neg(torch.log1p(torch.neg(torch.rand_like(x)))) / lambd


OWN: dict[Any, Decomposition] = {
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
    torch.ops.aten._linalg_check_errors.default: _checked_elsewhere,
    torch.ops.aten.put.default: _put,
    torch.ops.aten.dist.default: _dist,
    torch.ops.aten.ldexp.Tensor: _ldexp,
    torch.ops.aten.nanmedian.dim: _nanmedian_of_dim,
    torch.ops.aten.nanmedian.default: _nanmedian,
    torch.ops.aten.linalg_householder_product.default: _householder_product,
    torch.ops.aten.exponential.default: _exponential,
}
