"""Calling single kernels from Python: conversion of arguments, resized outs, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from rushlight.runtime import call_kernel, kernel_names
from rushlight.runtime.errors import (
    InvalidArgumentError,
    InvalidTypeError,
    OperatorMissingError,
    RushlightError,
)

PERMUTE = "aten::permute_copy.out"
DTYPES = [
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.bool,
    torch.complex64,
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_torch_tensors_are_written_in_place(dtype: torch.dtype) -> None:
    x = torch.tensor([[0, 1, 2], [3, 0, 5]]).to(dtype)
    out = torch.zeros(3, 2, dtype=dtype)
    assert call_kernel(PERMUTE, [x, [1, 0], out]) == [(3, 2)]
    assert torch.equal(out, x.t())


@pytest.mark.parametrize(
    "dtype", [np.uint8, np.int16, np.int64, np.float16, np.float32, np.bool_, np.complex128]
)
def test_numpy_arrays_are_written_in_place(dtype: Any) -> None:
    x = np.array([[0, 1, 2], [3, 0, 5]]).astype(dtype)
    out = np.zeros((3, 2), dtype)
    assert call_kernel(PERMUTE, [x, [1, 0], out]) == [(3, 2)]
    np.testing.assert_array_equal(out, x.T)


def test_larger_out_is_resized() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    out = torch.full((4, 5), -1.0)
    assert call_kernel(PERMUTE, [x, [1, 0], out]) == [(3, 2)]
    assert out.flatten()[:6].tolist() == [0, 3, 1, 4, 2, 5]
    assert out.flatten()[6:].eq(-1).all()


def test_tensor_lists_and_parameters() -> None:
    weight = torch.nn.Parameter(torch.ones(1, 2))
    out = torch.zeros(2, 2)
    assert call_kernel("aten::cat.out", [[weight, torch.zeros(1, 2)], 0, out]) == [(2, 2)]
    assert out.tolist() == [[1, 1], [0, 0]]


def test_libraries_are_searched_by_name() -> None:
    assert PERMUTE in kernel_names("portable")
    assert set(kernel_names("portable")) <= set(kernel_names())
    assert kernel_names() == sorted(kernel_names())
    with pytest.raises(RushlightError, match="no kernel library 'nowhere'"):
        kernel_names("nowhere")  # type: ignore[arg-type]


X = torch.zeros(2, 3)


@pytest.mark.parametrize(
    ("name", "args", "error", "message"),
    [
        ("aten::absent.out", [X], OperatorMissingError, "no kernel aten::absent.out"),
        (PERMUTE, [X, [1, 0]], InvalidArgumentError, "takes 3 arguments"),
        (PERMUTE, [X, "ab", X], InvalidTypeError, "argument 1 must be an integer, not str"),
        (PERMUTE, [1.5, [1, 0], X], InvalidTypeError, "argument 0 must be a tensor, not float"),
        (PERMUTE, [X[:, ::2], [1, 0], X], InvalidArgumentError, "argument 0 is not densely packed"),
        (PERMUTE, [X, [1, 7], X], InvalidArgumentError, r"aten::permute_copy.out: .*7"),
        (
            PERMUTE,
            [X.to("meta"), [1, 0], X],
            InvalidTypeError,
            r"argument 0 must be a tensor, not Tensor \(it is on device meta, and only tensors of the CPU",
        ),
    ],
)
def test_errors(name: str, args: list[Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call_kernel(name, args)
