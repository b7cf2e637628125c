"""Statistics of the error of a program's results."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from typing_extensions import Self


@dataclass
class TensorStatistics:
    """A summary of one tensor.

    Attributes:
        shape: the shape.
        numel: the number of elements.
        median: the median. The statistics of a tensor without elements are NaN.
        mean: the mean.
        max: the largest element.
        min: the smallest element.
    """

    shape: torch.Size
    numel: int
    median: float
    mean: float
    max: float
    min: float

    @classmethod
    def from_tensor(cls, tensor: torch.Tensor) -> Self:
        """Summarizes a tensor.

        Args:
            tensor: a tensor of any dtype and shape.
        """
        values = tensor.detach().to(torch.float64).flatten()
        if not values.numel():
            return cls(tensor.shape, 0, *[float("nan")] * 4)
        numbers = (values.median(), values.mean(), values.max(), values.min())
        return cls(tensor.shape, values.numel(), *(float(number) for number in numbers))


@dataclass
class ErrorStatistics:
    """The difference between a result and its reference. All errors are None if the shapes differ.

    Attributes:
        reference_stats: the summary of the reference.
        actual_stats: the summary of the result.
        error_l2_norm: the square root of the sum of squared differences.
        error_mae: the mean of absolute differences.
        error_max: the largest absolute difference.
        error_msd: the mean of signed differences, result minus reference.
        sqnr: the ratio of the norms of the result and of the difference, in dB; infinite for equal tensors.
    """

    reference_stats: TensorStatistics
    actual_stats: TensorStatistics
    error_l2_norm: float | None
    error_mae: float | None
    error_max: float | None
    error_msd: float | None
    sqnr: float | None

    @classmethod
    def from_tensors(cls, actual: torch.Tensor, reference: torch.Tensor) -> Self:
        """Compares a result with its reference.

        Args:
            actual: the result, of any dtype.
            reference: the reference, of any dtype.
        """
        summaries = TensorStatistics.from_tensor(reference), TensorStatistics.from_tensor(actual)
        if actual.shape != reference.shape:
            return cls(*summaries, *[None] * 5)
        if not actual.numel():
            return cls(*summaries, 0.0, 0.0, 0.0, 0.0, float("inf"))
        signal = actual.detach().to(torch.float64).flatten()
        error = signal - reference.detach().to(torch.float64).flatten()
        noise = torch.linalg.vector_norm(error)
        return cls(
            *summaries,
            error_l2_norm=float(noise),
            error_mae=float(error.abs().mean()),
            error_max=float(error.abs().max()),
            error_msd=float(error.mean()),
            sqnr=float(20 * torch.log10(torch.linalg.vector_norm(signal) / noise)),
        )
