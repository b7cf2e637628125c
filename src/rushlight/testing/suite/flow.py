"""A flow: one way to lower and run a model. The suite runs each test with each flow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rushlight.testing.stages import Stage
from rushlight.testing.tester import Tester


@dataclass
class TestFlow:
    """A backend with one way to lower to it.

    Attributes:
        name: the name of the flow.
        backend: the name of the backend.
        tester_factory: creates a tester from a module and its inputs.
        quantize: whether models are quantized first.
        quantize_stage_factory: creates the Quantize stage; None means the default stage of the tester.
        is_delegated: whether the flow lowers to a delegate. If so, a model without delegates is not run.
        skip_patterns: a test is skipped if its name contains one of these texts.
        xfail_patterns: a test must fail if its name contains one of these texts.
        param_skip_reasons: for the name and the value of a parameter, the reason why a test with this value
            is skipped.
        supports_serialize: whether the program can be written as bytes and run.
    """

    __test__ = False

    name: str
    backend: str
    tester_factory: Callable[..., Tester]
    quantize: bool = False
    quantize_stage_factory: Callable[..., Stage] | None = None
    is_delegated: bool = True
    skip_patterns: list[str] = field(default_factory=list)
    xfail_patterns: list[str] = field(default_factory=list)
    param_skip_reasons: dict[str, dict[Any, str]] = field(default_factory=dict)
    supports_serialize: bool = True

    def should_skip_test(self, test_name: str, params: Mapping[str, Any] | None = None) -> tuple[bool, str]:
        """Returns whether a test is skipped, and the reason (an empty text if it is not skipped)."""
        if any(pattern in test_name for pattern in self.skip_patterns):
            return True, f"the flow {self.name} skips tests with this name"
        for name, reasons in self.param_skip_reasons.items():
            if params is not None and name in params and params[name] in reasons:
                return True, reasons[params[name]]
        return False, ""

    def should_xfail_test(self, test_name: str) -> bool:
        """Returns whether a test must fail."""
        return any(pattern in test_name for pattern in self.xfail_patterns)

    def __str__(self) -> str:
        return self.name
