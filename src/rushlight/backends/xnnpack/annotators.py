"""The functions by which `XNNPACKQuantizer` annotates the operators of a pattern, which users may replace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.quantizer import QuantizationConfig

Filter = Callable[[Node], bool]
AnnotatorType = Callable[[GraphModule, QuantizationConfig | None, Filter | None], list[list[Node]] | None]
"""Annotates the operators of a pattern for which the filter returns true, and returns their nodes."""


@dataclass
class QuantPattern:
    """Operators that a quantizer annotates together.

    Attributes:
        name: the name of the function in `OP_TO_ANNOTATOR`.
        is_dynamic: whether a configuration with dynamic ranges applies to the pattern.
        is_qat: whether the pattern exists in training only.
        op_overloads: the operators of the pattern, for `set_operator_type`.
    """

    name: str
    is_dynamic: bool
    is_qat: bool
    op_overloads: set[object]


OP_TO_ANNOTATOR: dict[str, AnnotatorType] = {}
"""The functions by the names of patterns."""

BUILTIN: dict[str, AnnotatorType] = {}
"""The functions of `XNNPACKQuantizer` itself."""


def register_annotator(op: str) -> Callable[[AnnotatorType], None]:
    """Returns a decorator that registers the function for a pattern. It replaces a function of the same name.

    A quantizer calls the function for each pattern of this name in its `SUPPORTED_PATTERNS`.

    Args:
        op: the name of the pattern, such as `linear` or `add_relu`.
    """

    def register(annotator: AnnotatorType) -> None:
        OP_TO_ANNOTATOR[op] = annotator

    return register


def is_replaced(name: str) -> bool:
    """Returns whether a user has registered a function for a pattern."""
    return OP_TO_ANNOTATOR.get(name) is not BUILTIN.get(name)
