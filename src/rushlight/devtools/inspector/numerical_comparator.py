"""Distances between a reference value and a value of the runtime."""

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
        inspector: the Inspector, through which the record is accessible; `calculate_numeric_gap` sets it if
            it is None.
    """

    def __init__(self, inspector: object = None) -> None:
        self.inspector = inspector

    @abstractmethod
    def element_compare(self, a: object, b: object) -> float:
        """Returns the distance between two values.

        Args:
            a: the reference, such as a tensor of the eager model.
            b: the value of the runtime.
        """

    def departs(self, distance: float, reference: torch.Tensor, allowed: float) -> bool:
        """Returns whether a distance exceeds the distance that an allowed error causes.

        A subclass whose distance does not have the unit of the values overrides this.

        Args:
            distance: the result of `element_compare`; NaN always departs.
            reference: the reference.
            allowed: the allowed error of one element.
        """
        return not distance <= allowed

    def preprocessing(self, mapping: IntermediateOutputMapping) -> IntermediateOutputMapping:
        """Returns the pairs of values to compare. A subclass overrides this to change them.

        Args:
            mapping: the recorded pairs. Keys are (debug handles, reference), values are (debug handles, value
                of the runtime).
        """
        return mapping

    def compare(
        self,
        mapping: IntermediateOutputMapping,
        aot_debug_handle_to_op_names: Mapping[DebugHandle, list[str]],
        runtime_debug_handle_to_op_names: Mapping[DebugHandle, list[str]],
    ) -> DataFrame:
        """Compares pairs of values, and returns a pandas DataFrame. It needs pandas.

        A reference with several values is left out if the runtime has a different number of values.

        Args:
            mapping: the pairs.
            aot_debug_handle_to_op_names: the names of the operators of the reference.
            runtime_debug_handle_to_op_names: the names of the operators of the runtime.
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
            ValueError: the dict has other keys or values than (debug handles, value).
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
        raise ValueError("two values are compared that are not both tensors, or not sequences of one length")


def _is_comparable(reference: object, value: object) -> bool:
    """Whether the reference is a single value, or has as many values as the runtime."""
    if not isinstance(reference, Sequence) or len(reference) == 1:
        return True
    return isinstance(value, Sequence) and len(value) == len(reference)


def _names_among(handles: DebugHandle, names: Mapping[DebugHandle, Sequence[str]]) -> list[str]:
    """The names of all operators with one of the given debug handles."""
    wanted = set(handles)
    return [name for found, inside in names.items() if wanted.issuperset(found) for name in inside]


def as_float(value: object) -> torch.Tensor:
    """Converts a tensor or number to a float64 tensor.

    Args:
        value: a tensor of any shape and dtype, or a number.

    Returns:
        A tensor of the same shape; a number gives a tensor without dimensions.

    Raises:
        ValueError: the value has another type.
    """
    if not isinstance(value, (torch.Tensor, int, float, bool)):
        raise ValueError(f"a tensor or a number is compared, not a {type(value).__name__}")
    return torch.as_tensor(value).detach().to(torch.float64)


def difference_of(a: object, b: object) -> torch.Tensor:
    """Returns `a` minus `b`, element by element, in float64.

    Args:
        a: a tensor of any shape and dtype, or a number.
        b: a tensor of the same shape, or a number.

    Returns:
        A float64 tensor of this shape.

    Raises:
        ValueError: the shapes differ, or a value is neither a tensor nor a number.
    """
    left, right = as_float(a), as_float(b)
    if left.shape != right.shape:
        raise ValueError(f"tensors of the shapes {tuple(left.shape)} and {tuple(right.shape)} are compared")
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
        """Returns whether the mean squared error is above the square of the allowed error.

        Args:
            distance: the mean squared error.
            reference: the reference values, a tensor of any shape.
            allowed: the allowed absolute error of an element, in the unit of the values.

        Returns:
            True if it is above, or is NaN.
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
        """Returns whether the sum of the differences is above the allowed error times the number of elements.

        Args:
            distance: the sum of the absolute differences.
            reference: the reference values, a tensor of any shape.
            allowed: the allowed absolute error of an element, in the unit of the values.

        Returns:
            True if it is above, or is NaN.
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
        """Returns whether the ratio is below the ratio that an allowed error causes.

        Args:
            distance: the signal-to-noise ratio, in dB.
            reference: the reference values, a tensor of any shape.
            allowed: the allowed absolute error of an element, in the unit of the values.

        Returns:
            True if it is below, or is NaN.
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
            0 for the same direction, 2 for the opposite one. Equal values give 0, also if all elements are
            zero.

        Raises:
            ValueError: the shapes differ, or a value is neither a tensor nor a number.
        """
        x, y = as_float(a).flatten(), as_float(b).flatten()
        if torch.equal(x, y):
            return 0.0
        return float(1 - torch.nn.functional.cosine_similarity(x, y, dim=0))

    def departs(self, distance: float, reference: torch.Tensor, allowed: float) -> bool:
        """Returns whether the distance exceeds the distance that an allowed error causes.

        Args:
            distance: 1 minus the cosine.
            reference: the reference values, a tensor of any shape.
            allowed: the allowed absolute error of an element, in the unit of the values.

        Returns:
            True if it exceeds it, or is NaN.
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
        inspector: the inspector to set. A comparator that has one already keeps it.

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
        raise ValueError(f"Unsupported distance metric {distance!r}; there are {', '.join(_BY_NAME)}")
    return _BY_NAME[name](inspector)
