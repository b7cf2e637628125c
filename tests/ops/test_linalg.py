"""Linear algebra agrees with eager PyTorch. Factors with arbitrary signs are compared by their product."""

from __future__ import annotations

import pytest
import torch
from tests.ops.harness import FLOATS, Case, blank, check, compute, expected
from tests.ops.samples import tensor

from rushlight.runtime import call_kernel
from rushlight.runtime.errors import RushlightError

aten = torch.ops.aten
f32, f64 = FLOATS


def matrix(*shape: int, dtype: torch.dtype = f32, seed: int = 0) -> torch.Tensor:
    """Returns well-conditioned matrices."""
    a = tensor(dtype, *shape, seed=seed)
    eye = torch.eye(*shape[-2:], dtype=dtype)
    return a + 4 * shape[-1] * eye if shape[-1] else a


def positive(*shape: int, dtype: torch.dtype = f32) -> torch.Tensor:
    a = tensor(dtype, *shape)
    return a @ a.mT + torch.eye(shape[-1], dtype=dtype)


def check_first(name: str, case: Case, results: int) -> None:
    """Checks the first result only. The factors of eager PyTorch are sometimes those of the transpose."""
    wanted = expected(name, case)
    got = compute(name, case, [blank(w) for w in wanted])
    for actual, reference in zip(got[:results], wanted[:results], strict=True):
        torch.testing.assert_close(actual, reference, rtol=1e-4, atol=1e-5, check_stride=False)


SQUARE = [
    *[matrix(*shape, dtype=dtype) for dtype in FLOATS for shape in ((3, 3), (2, 3, 5, 5), (1, 1))],
    torch.tensor([[0.0, 2.0, 1.0], [1.0, 0.0, 3.0], [4.0, 1.0, 0.0]]),
    matrix(4, 4).mT,
    matrix(0, 3, 3),
    matrix(0, 0),
]
TALL_AND_WIDE = [
    *[tensor(f64, *shape) for shape in ((5, 3), (3, 5), (4, 4), (2, 3, 4, 2), (1, 6), (6, 1))],
    torch.zeros(4, 3, dtype=f64),
    torch.ones(4, 3, dtype=f64),
    tensor(f32, 4, 3).mT,
]


@pytest.mark.parametrize("a", SQUARE, ids=str)
def test_factored_by_elimination(a: torch.Tensor) -> None:
    check("aten::linalg_inv_ex.inverse", Case(a))
    check_first("aten::_linalg_det.result", Case(a), 1)
    check_first("aten::_linalg_slogdet.sign", Case(a), 2)
    check("aten::linalg_lu_factor_ex.out", Case(a))


@pytest.mark.parametrize("a", TALL_AND_WIDE, ids=str)
def test_lu_of_any_shape(a: torch.Tensor) -> None:
    check("aten::linalg_lu.out", Case(a), rtol=1e-5, atol=1e-6)
    check("aten::linalg_lu_factor_ex.out", Case(a), rtol=1e-5, atol=1e-6)


SYSTEMS = [
    (matrix(3, 3), tensor(f32, 3, 2)),
    (matrix(3, 3), tensor(f32, 3)),
    (matrix(2, 3, 3), tensor(f32, 2, 3)),
    (matrix(2, 1, 3, 3, dtype=f64), tensor(f64, 4, 3, 2)),
    (matrix(3, 3).mT, tensor(f32, 2, 3).mT),
    (matrix(5, 3, 3), tensor(f32, 3, 4)),
]


@pytest.mark.parametrize(("a", "b"), SYSTEMS, ids=str)
def test_systems(a: torch.Tensor, b: torch.Tensor) -> None:
    check_first("aten::_linalg_solve_ex.result", Case(a, b), 1)
    if b.dim() == a.dim() - 1 and (b.dim() == 1 or b.shape == a.shape[:-1]):
        return
    check_first("aten::_linalg_solve_ex.result", Case(a, b.mT.contiguous(), left=False), 1)
    lu, pivots = torch.linalg.lu_factor(a)
    for upper in (False, True):
        check("aten::linalg_solve_triangular.out", Case(a, b, upper=upper))
        check("aten::linalg_solve_triangular.out", Case(a, b, upper=upper, unitriangular=True))
        check("aten::linalg_solve_triangular.out", Case(a, b.mT.contiguous(), upper=upper, left=False))
        for transpose in (False, True):
            check("aten::triangular_solve.X", Case(b, a, upper, transpose))
        factor = torch.linalg.cholesky(a @ a.mT, upper=upper)
        check("aten::cholesky_solve.out", Case(b, factor, upper))
        check("aten::linalg_lu_solve.out", Case(lu, pivots, b, adjoint=upper))
        check("aten::linalg_lu_solve.out", Case(lu, pivots, b.mT.contiguous(), left=False, adjoint=upper))


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("a", [positive(3, 3), positive(2, 4, 4, dtype=f64), positive(1, 1)], ids=str)
def test_positive_definite(a: torch.Tensor, upper: bool) -> None:
    check("aten::linalg_cholesky_ex.L", Case(a, upper=upper))
    check("aten::cholesky_inverse.out", Case(torch.linalg.cholesky(a, upper=upper), upper), rtol=1e-4)


@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
@pytest.mark.parametrize("a", [a for a in TALL_AND_WIDE if not (a == 1).all()], ids=str)
def test_qr(a: torch.Tensor, mode: str) -> None:
    check("aten::linalg_qr.out", Case(a, mode), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("triangle", ["L", "U"])
@pytest.mark.parametrize(
    "a", [tensor(f64, 4, 4), tensor(f64, 2, 3, 3), torch.eye(3), torch.zeros(2, 2), torch.ones(4, 4)], ids=str
)
def test_symmetric_eigenvalues(a: torch.Tensor, triangle: str) -> None:
    case = Case(a, triangle)
    wanted = expected("aten::_linalg_eigh.eigenvalues", case)
    values, vectors = compute("aten::_linalg_eigh.eigenvalues", case, [blank(w) for w in wanted])
    torch.testing.assert_close(values, wanted[0], rtol=1e-5, atol=1e-6)
    one = a.tril() + a.tril(-1).mT if triangle == "L" else a.triu() + a.triu(1).mT
    torch.testing.assert_close(vectors * values[..., None, :] @ vectors.mT, one, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(vectors.mT @ vectors, torch.eye(a.shape[-1]).expand_as(a).to(a.dtype))
    check("aten::_linalg_eigh.eigenvalues", Case(a, triangle, False), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("a", TALL_AND_WIDE, ids=str)
def test_singular_values(a: torch.Tensor, full: bool) -> None:
    case = Case(a, full)
    wanted = expected("aten::_linalg_svd.U", case)
    u, s, vh = compute("aten::_linalg_svd.U", case, [blank(w) for w in wanted])
    torch.testing.assert_close(s, wanted[1], rtol=1e-5, atol=1e-6)
    n = s.shape[-1]
    torch.testing.assert_close(u[..., :n] * s[..., None, :] @ vh[..., :n, :], a, rtol=1e-5, atol=1e-5)
    for basis in (u.mT @ u, vh @ vh.mT):
        torch.testing.assert_close(basis, torch.eye(basis.shape[-1]).expand_as(basis).to(a.dtype))
    check("aten::_linalg_svd.U", Case(a, full, False), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "a", [tensor(f64, 3, 3), tensor(f32, 2, 4, 4), 20 * tensor(f64, 3, 3), torch.zeros(2, 2)], ids=str
)
def test_matrix_exponential(a: torch.Tensor) -> None:
    check("aten::linalg_matrix_exp.out", Case(a), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "inputs", "outs"),
    [
        ("aten::linalg_inv_ex.inverse", [torch.ones(2, 2), False], 2),
        ("aten::_linalg_solve_ex.result", [torch.ones(2, 2), torch.ones(2, 1), True, False], 4),
        ("aten::linalg_cholesky_ex.L", [-torch.eye(2), False, False], 2),
    ],
)
def test_no_result(name: str, inputs: list[object], outs: int) -> None:
    shapes = {2: [(2, 2), ()], 4: [(2, 1), (2, 2), (2,), ()]}[outs]
    dtypes = {2: [f32, torch.int32], 4: [f32, f32, torch.int32, torch.int32]}[outs]
    made = [torch.zeros(shape, dtype=dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]
    with pytest.raises(RushlightError, match="singular|not positive definite"):
        call_kernel(name, [*inputs, *made], "portable")  # type: ignore[list-item]


@pytest.mark.parametrize(
    "case",
    [
        *[Case(torch.tensor([1, 4, 1, 0], dtype=d)) for d in (torch.int64, torch.uint8, torch.int32)],
        Case(torch.tensor([1, 4, 1]), None, 9),
        Case(torch.tensor([], dtype=torch.int64), None, 3),
        Case(torch.tensor([1, 0, 1]), torch.tensor([0.5, 1.0, 2.0])),
        Case(torch.tensor([1, 0, 1]), torch.tensor([5, 1, 2])),
    ],
    ids=str,
)
def test_bincount(case: Case) -> None:
    check("aten::bincount.out", case)


def test_bincount_of_a_negative_number() -> None:
    with pytest.raises(RushlightError, match="number -2 cannot be counted"):
        call_kernel("aten::bincount.out", [torch.tensor([1, -2]), None, 0, torch.zeros(4, dtype=torch.int64)])
