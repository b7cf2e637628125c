"""Comparators: they compute distances between a reference value and a value of the runtime."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import torch

from rushlight.devtools.inspector.events import dataframe

if TYPE_CHECKING:
    from pandas import DataFrame

DebugHandle: TypeAlias = tuple[int, ...]
IntermediateOutputMapping: TypeAlias = dict[tuple[DebugHandle, Any], tuple[DebugHandle, Any]]
"""Maps (debug handles, value) of the reference to (debug handles, value) of the runtime."""


class NumericalComparatorBase(ABC):
    """A distance between values. A subclass defines `element_compare`.

    Args:
        inspector: the Inspector, which has the ETRecord. If it is None, `calculate_numeric_gap` sets it.
    """

    def __init__(self, inspector: object = None) -> None:
        self.inspector = inspector

    @abstractmethod
    def element_compare(self, a: object, b: object) -> float:
        """Returns the distance between two values.

        Args:
            a: the reference value, such as a tensor of the eager model.
            b: the value of the runtime.
        """

    def departs(self, distance: float, reference: torch.Tensor, allowed: float) -> bool:
        """Returns whether a distance exceeds the distance that an allowed error causes.

        A subclass overrides this method if its distance does not have the unit of the values.

        Args:
            distance: the result of `element_compare`.
            reference: the reference value.
            allowed: the allowed absolute error of an element, in the unit of the values.

        Returns:
            True if the distance is larger, or is NaN.
        """
        return not distance <= allowed

    def preprocessing(self, mapping: IntermediateOutputMapping) -> IntermediateOutputMapping:
        """Returns the pairs of values to compare. A subclass can override this method to change them.

        Args:
            mapping: the recorded pairs. A key is (debug handles, reference), and its value is (debug handles,
                value of the runtime).
        """
        return mapping

    def compare(
        self,
        mapping: IntermediateOutputMapping,
        aot_debug_handle_to_op_names: Mapping[DebugHandle, list[str]],
        runtime_debug_handle_to_op_names: Mapping[DebugHandle, list[str]],
    ) -> DataFrame:
        """Compares pairs of values, and returns a pandas DataFrame. This needs pandas.

        If the reference and the runtime have different numbers of values, the pair has no row.

        Args:
            mapping: the pairs.
            aot_debug_handle_to_op_names: the operator names of the reference, by debug handles.
            runtime_debug_handle_to_op_names: the operator names of the runtime, by debug handles.
        """
        return dataframe(
            {
                "aot_debug_handle": handles,
                "aot_ops": _names_among(handles, aot_debug_handle_to_op_names),
                "aot_intermediate_output": reference,
                "runtime_ops": _names_among(its_handles, runtime_debug_handle_to_op_names),
                "runtime_debug_handle": its_handles,
                "runtime_intermediate_output": value,
                "gap": self.distances(reference, value),
            }
            for (handles, reference), (its_handles, value) in self.preprocessed(mapping).items()
            if reference is not None and value is not None and _is_comparable(reference, value)
        )

    def preprocessed(self, mapping: IntermediateOutputMapping) -> IntermediateOutputMapping:
        """Returns the checked result of `preprocessing`.

        Args:
            mapping: the argument of `preprocessing`.

        Raises:
            TypeError: `preprocessing` did not return a dict.
            ValueError: a key or value of the dict is not a pair of debug handles and a value.
        """
        result = self.preprocessing(mapping)
        if not isinstance(result, dict):
            raise TypeError(f"preprocessing() must return a dict, not {type(result).__name__}")
        for item in result.items():
            for pair, what, owner in zip(item, ("key", "value"), ("AOT", "runtime"), strict=True):
                if not isinstance(pair, tuple) or len(pair) != 2:
                    raise ValueError(
                        f"Invalid {what} format: preprocessing() must return (tuple of debug handles, value) "
                        f"as keys and values; it returned {pair!r:.100}"
                    )
                handles = pair[0]
                if not isinstance(handles, tuple) or not all(isinstance(handle, int) for handle in handles):
                    raise ValueError(
                        f"Invalid {owner} debug handle: preprocessing() must keep the tuples of integers; it "
                        f"returned {handles!r:.100} in a {what}"
                    )
        return result

    def distances(self, a: Any, b: Any) -> list[float]:
        """Returns the distance of two values, or the distances of the items of two sequences.

        Args:
            a: the reference, or a sequence of references.
            b: the value of the runtime, or a sequence of values of the same length.

        Raises:
            ValueError: only one value is a sequence, or the lengths differ.
        """
        are_sequences = isinstance(a, Sequence), isinstance(b, Sequence)
        if are_sequences == (False, False):
            return [self.element_compare(a, b)]
        if are_sequences == (True, True) and len(a) == len(b):
            return [self.element_compare(x, y) for x, y in zip(a, b, strict=True)]
        raise ValueError("only two tensors or numbers, or two sequences of the same length, can be compared")


def _is_comparable(reference: object, value: object) -> bool:
    """Whether the reference is a single value, or has the same number of values as the runtime."""
    if not isinstance(reference, Sequence) or len(reference) == 1:
        return True
    return isinstance(value, Sequence) and len(value) == len(reference)


def _names_among(handles: DebugHandle, names: Mapping[DebugHandle, Sequence[str]]) -> list[str]:
    """Returns the names of all operators whose debug handles are among the given ones."""
    wanted = set(handles)
    return [name for found, inside in names.items() if wanted.issuperset(found) for name in inside]


def as_float(value: object) -> torch.Tensor:
    """Converts a tensor or number to a float64 tensor.

    Args:
        value: a tensor of any shape and dtype, or a number.

    Returns:
        A float64 tensor of the same shape. A number is converted to a tensor without dimensions.

    Raises:
        ValueError: the value has another type.
    """
    if not isinstance(value, (torch.Tensor, int, float, bool)):
        raise ValueError(f"only tensors and numbers can be compared, not a {type(value).__name__}")
    return torch.as_tensor(value).detach().to(torch.float64)


def difference_of(a: object, b: object) -> torch.Tensor:
    """Returns `a` minus `b`, element by element, in float64.

    Args:
        a: a tensor of any shape and dtype, or a number.
        b: a tensor of the same shape, or a number.

    Returns:
        A float64 tensor of the same shape.

    Raises:
        ValueError: the shapes differ, or a value is neither a tensor nor a number.
    """
    left, right = as_float(a), as_float(b)
    if left.shape != right.shape:
        raise ValueError(
            f"tensors of the shapes {tuple(left.shape)} and {tuple(right.shape)} cannot be compared"
        )
    return left - right


class MSEComparator(NumericalComparatorBase):
    """The mean of the squared differences."""

    def element_compare(self, a: object, b: object) -> float:
        """Returns the mean squared error.

        Args:
            a: the reference, a tensor of any shape and dtype, or a number.
            b: the value of the runtime, with the shape of `a`.

        Returns:
            The mean of the squared differences; NaN for tensors without elements.

        Raises:
            ValueError: the shapes differ, or a value is neither a tensor nor a number.
        """
        return float(difference_of(a, b).square().mean())

    def departs(self, distance: float, reference: torch.Tensor, allowed: float) -> bool:
        """Returns whether the mean squared error is larger than the square of the allowed error.

        Args:
            distance: the mean squared error.
            reference: the reference values, a tensor of any shape.
            allowed: the allowed absolute error of an element, in the unit of the values.

        Returns:
            True if it is larger, or is NaN.
        """
        return not distance <= allowed**2


class L1Comparator(NumericalComparatorBase):
    """The sum of the absolute differences."""

    def element_compare(self, a: object, b: object) -> float:
        """Returns the sum of the absolute differences.

        Args:
            a: the reference, a tensor of any shape and dtype, or a number.
            b: the value of the runtime, with the shape of `a`.

        Returns:
            The sum; 0 for tensors without elements.

        Raises:
            ValueError: the shapes differ, or a value is neither a tensor nor a number.
        """
        return float(difference_of(a, b).abs().sum())

    def departs(self, distance: float, reference: torch.Tensor, allowed: float) -> bool:
        """Returns whether the sum is larger than the allowed error times the number of elements.

        Args:
            distance: the sum of the absolute differences.
            reference: the reference values, a tensor of any shape.
            allowed: the allowed absolute error of an element, in the unit of the values.

        Returns:
            True if it is larger, or is NaN.
        """
        return not distance <= allowed * max(reference.numel(), 1)


class MaxComparator(NumericalComparatorBase):
    """The largest absolute difference."""

    def element_compare(self, a: object, b: object) -> float:
        """Returns the largest absolute difference.

        Args:
            a: the reference, a tensor of any shape and dtype, or a number.
            b: the value of the runtime, with the shape of `a`.

        Returns:
            The maximum; 0 for tensors without elements.

        Raises:
            ValueError: the shapes differ, or a value is neither a tensor nor a number.
        """
        difference = difference_of(a, b).abs()
        return float(difference.max()) if difference.numel() else 0.0


class SNRComparator(NumericalComparatorBase):
    """The signal-to-noise ratio in dB: 10 log10(mean of a² / mean of (a - b)²); infinite for equal values."""

    def element_compare(self, a: object, b: object) -> float:
        """Returns the signal-to-noise ratio.

        Args:
            a: the reference, a tensor of any shape and dtype, or a number.
            b: the value of the runtime, with the shape of `a`.

        Returns:
            The ratio of the mean squares of `a` and of the difference, in dB. It is infinite if only the
            difference is zero, and NaN if both are.

        Raises:
            ValueError: the shapes differ, or a value is neither a tensor nor a number.
        """
        reference = as_float(a)
        noise = difference_of(a, b).square().mean()
        return float(10 * torch.log10(reference.square().mean() / noise))

    def departs(self, distance: float, reference: torch.Tensor, allowed: float) -> bool:
        """Returns whether the ratio is smaller than the ratio that an allowed error causes.

        Args:
            distance: the signal-to-noise ratio, in dB.
            reference: the reference values, a tensor of any shape.
            allowed: the allowed absolute error of an element, in the unit of the values.

        Returns:
            True if it is smaller, or is NaN.
        """
        return not distance >= self.element_compare(reference, as_float(reference) + allowed)


class CosineComparator(NumericalComparatorBase):
    """One minus the cosine of the angle between the values as vectors."""

    def element_compare(self, a: object, b: object) -> float:
        """Returns 1 minus the cosine of the angle between the flattened values.

        Args:
            a: the reference, a tensor of any shape and dtype, or a number.
            b: the value of the runtime, with the shape of `a`.

        Returns:
            0 for vectors of the same direction, 2 for vectors of opposite directions. Equal values give 0,
            even if all elements are zero.

        Raises:
            ValueError: the shapes differ, or a value is neither a tensor nor a number.
        """
        x, y = as_float(a).flatten(), as_float(b).flatten()
        if torch.equal(x, y):
            return 0.0
        return float(1 - torch.nn.functional.cosine_similarity(x, y, dim=0))

    def departs(self, distance: float, reference: torch.Tensor, allowed: float) -> bool:
        """Returns whether the distance is larger than the distance that an allowed error causes.

        Args:
            distance: 1 minus the cosine.
            reference: the reference values, a tensor of any shape.
            allowed: the allowed absolute error of an element, in the unit of the values.

        Returns:
            True if it is larger, or is NaN.
        """
        power = float(as_float(reference).square().mean())
        return not distance * 2 * power <= allowed**2


_BY_NAME: dict[str, Callable[[Any], NumericalComparatorBase]] = {
    "MSE": MSEComparator,
    "L1": L1Comparator,
    "SNR": SNRComparator,
    "COSINE": CosineComparator,
    "MAX": MaxComparator,
}


def comparator_of(distance: str | NumericalComparatorBase, inspector: object) -> NumericalComparatorBase:
    """Returns a comparator, and sets its inspector.

    Args:
        distance: a comparator, or the name of one in upper or lower case, such as "MSE" or "SNR".
        inspector: the inspector to set. If the comparator already has an inspector, it keeps it.

    Returns:
        The given comparator, or a new one of this name.

    Raises:
        ValueError: the name is unknown. The message lists the names.
    """
    if isinstance(distance, NumericalComparatorBase):
        if distance.inspector is None:
            distance.inspector = inspector
        return distance
    name = distance.strip().upper()
    if name not in _BY_NAME:
        raise ValueError(f"Unsupported distance metric {distance!r}; the metrics are {', '.join(_BY_NAME)}")
    return _BY_NAME[name](inspector)
