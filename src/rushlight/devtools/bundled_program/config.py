"""The test cases of a bundled program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch.utils._pytree import tree_leaves

from rushlight.devtools.bundled_program.errors import BundleError

ConfigValue: TypeAlias = torch.Tensor | int | bool | float
"""The types of an input or an expected output."""

MethodInputType: TypeAlias = Sequence[ConfigValue]
MethodOutputType: TypeAlias = Sequence[torch.Tensor]

DataContainer: TypeAlias = list | tuple | dict  # type: ignore[type-arg]  # users pass its members to isinstance
"""The containers in which inputs and expected outputs may be nested."""


class MethodTestCase:
    """The inputs of one execution of a method, and the expected outputs.

    Attributes:
        inputs: the inputs as a flat list.
        expected_outputs: the expected outputs as a flat list, which is empty if none are given.

    Args:
        inputs: the positional arguments of the method. They may be nested in containers.
        expected_outputs: the expected outputs of the method; None if the outputs are not verified.

    Raises:
        BundleError: a value is neither a tensor nor a number.
    """

    def __init__(self, inputs: MethodInputType, expected_outputs: MethodOutputType | None = None) -> None:
        self.inputs: list[ConfigValue] = _flatten("input", inputs)
        self.expected_outputs: list[ConfigValue] = (
            [] if expected_outputs is None else _flatten("expected output", expected_outputs)
        )


@dataclass
class MethodTestSuite:
    """The test cases of a method.

    Attributes:
        method_name: the name of the method.
        test_cases: the test cases of the method.
    """

    method_name: str
    test_cases: Sequence[MethodTestCase]


def _flatten(what: str, values: object) -> list[ConfigValue]:
    leaves = tree_leaves(values)
    for index, leaf in enumerate(leaves):
        if not isinstance(leaf, (torch.Tensor, int, bool, float)):
            raise BundleError(
                f"{what} {index} has the type {type(leaf).__name__}; give a tensor or a number instead of "
                f"{leaf!r}"
            )
    return leaves
