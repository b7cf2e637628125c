"""Modules with linear algebra, indexing and torch.func transforms."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from models.zoo.cases import Model, model, randint, zoo

GROUP = "modules"


@zoo(GROUP)
def linear_algebra() -> Model:
    def run(a: torch.Tensor, b: torch.Tensor) -> Any:
        return (
            a @ b,
            torch.einsum("ij,kj->ik", a, b),
            torch.linalg.norm(a),
            torch.linalg.vector_norm(a, 1, -1),
            torch.cdist(a, b),
            torch.baddbmm(a[None], a[None], b[None]),
            torch.outer(a[0], b[0]),
            torch.kron(a, b),
            torch.trace(a),
            torch.cross(a, b, dim=1),
            torch.chain_matmul(a, b, a),
        )

    return model(run, torch.randn(3, 3), torch.randn(3, 3))


@zoo(GROUP)
def linear_solvers() -> Model:
    """Determinants, inverses and decompositions, as in normalizing flows and filters."""

    def run(a: torch.Tensor) -> Any:
        s = a @ a.mT + 3 * torch.eye(3)
        return (
            torch.linalg.inv(s),
            torch.linalg.cholesky(s),
            torch.linalg.solve(s, a),
            torch.logdet(s),
            torch.linalg.pinv(a[:, :2]),
            torch.linalg.eigvalsh(s),
            torch.linalg.svdvals(a),
            torch.linalg.qr(a),
            torch.linalg.matrix_exp(a),
            torch.linalg.matrix_power(s, 3),
            torch.linalg.lu(s),
            torch.linalg.solve_triangular(s, a, upper=True),
            torch.cholesky_solve(a, torch.linalg.cholesky(s)),
            torch.addbmm(a, a[None], s[None], beta=0.5),
            torch.linalg.cond(s),
            torch.linalg.matrix_norm(a, "nuc"),
        )

    return model(run, torch.randn(3, 3))


@zoo(GROUP)
def windows_and_counts() -> Model:
    def run(x: torch.Tensor, i: torch.Tensor) -> Any:
        return (
            torch.bincount(i, minlength=8)[:8],
            torch.bucketize(x, torch.arange(5.0)),
            torch.searchsorted(torch.arange(5.0), x),
            F.one_hot(i, 8),
            torch.histc(x, 4, 0.0, 4.0),
            x.cumsum(0),
            x.cumprod(0),
            x.logcumsumexp(0),
            x.cummax(0),
            x.diff(),
            x.roll(2),
            x.flip(0),
            torch.rot90(x.view(2, 3)),
            x.repeat_interleave(2),
            torch.trapz(x),
        )

    return model(run, torch.rand(6) * 4, randint(8, 6))


@zoo(GROUP)
def grids_and_masks() -> Model:
    def run(x: torch.Tensor) -> Any:
        rows, columns = torch.meshgrid(torch.arange(3), torch.arange(4), indexing="ij")
        mask = torch.triu(torch.full((4, 4), float("-inf")), 1)
        return (
            rows + columns,
            mask,
            x.masked_fill(x > 0, -1.0),
            torch.where(x > 0, x, 0.0),
            torch.tril(x),
            x.diag(),
            torch.diag_embed(x),
            torch.block_diag(x, x),
            torch.cartesian_prod(x[0], x[1]),
            torch.tril_indices(3, 3),
        )

    return model(run, torch.randn(4, 4))


@zoo(GROUP)
def indexing() -> Model:
    def run(x: torch.Tensor, i: torch.Tensor) -> Any:
        y = x.clone()
        y[1:, ::2] = 0
        y[i, i] += 1
        y[..., -1] = x[..., 0]
        y.index_fill_(0, i[:1], 3.0)
        return (
            y,
            x[:, i],
            x[i][:, None],
            x[-1, ..., 0],
            x.take(i),
            x.gather(1, i[None].expand(6, -1) % 6),
            x.index_select(1, i),
            torch.take_along_dim(x, x.argsort(1), 1),
        )

    return model(run, torch.randn(6, 6), torch.tensor([0, 2, 5]))


@zoo(GROUP)
def indexing_boolean() -> Model:
    def run(x: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        y[y < 0] = 0.5
        return y

    return model(run, torch.randn(6, 6), others=[torch.randn(6, 6)])


@zoo(GROUP)
def einsums() -> Model:
    def run(a: torch.Tensor, b: torch.Tensor) -> Any:
        return (
            torch.einsum("bij,bjk->bik", a, b),
            torch.einsum("bii->bi", a),
            torch.einsum("bij,bij->b", a, b),
            torch.einsum("...ij->...ji", a),
            torch.tensordot(a, b, dims=([1, 2], [2, 1])),
        )

    return model(run, torch.randn(2, 3, 3), torch.randn(2, 3, 3))


@zoo(GROUP)
def vmapped() -> Model:
    weight = torch.randn(4, 4)
    return model(lambda x: torch.vmap(lambda row: (weight @ row).tanh().sum())(x), torch.randn(5, 4))


@zoo(GROUP)
def gradient_inside() -> Model:
    """The gradient of a function as part of the forward pass."""

    def run(x: torch.Tensor) -> torch.Tensor:
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            return torch.autograd.grad((x.sin() * x).sum(), x)[0]

    return model(run, torch.randn(4))
