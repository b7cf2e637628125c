"""Creates pytest tests from classes that test operators, as in ExecuTorch's suite.

A test uses the fixture `test_runner`. Its method `lower_and_run_model` lowers and runs a model with a flow.
"""

from __future__ import annotations

import sys
import unittest
from collections.abc import Callable
from enum import Enum
from typing import Any, Protocol

import torch

from rushlight.testing.stages import Inputs
from rushlight.testing.suite.flow import TestFlow
from rushlight.testing.suite.reporting import TestCaseSummary
from rushlight.testing.suite.runner import run_test

DTYPES = [torch.float32]
"""The dtypes of tests marked with `dtype_test`."""

FLOAT_DTYPES = [torch.float16, torch.float32, torch.float64]
"""All float dtypes of models."""


class TestType(Enum):
    """How often a test runs: once, or once for each dtype."""

    __test__ = False

    STANDARD = 1
    DTYPE = 2


class OperatorTest(unittest.TestCase):
    """The base class of operator tests. `operator_test` converts its methods to pytest tests."""


class ModelRunner(Protocol):
    """The interface of the fixture `test_runner`."""

    _flow: TestFlow

    def lower_and_run_model(
        self,
        model: torch.nn.Module,
        inputs: Any,
        generate_random_test_inputs: bool = True,
        dynamic_shapes: Any = None,
    ) -> None:
        """Lowers and runs a model."""


class TestRunner:
    """Lowers and runs the models of one test with a flow.

    Args:
        flow: the flow.
        test_name: the full name of the test.
        test_base_name: the name of the test without flow and parameters.
        artifact_dir: a folder for programs, inputs and reference outputs.
    """

    __test__ = False

    def __init__(
        self, flow: TestFlow, test_name: str, test_base_name: str, artifact_dir: str | None = None
    ) -> None:
        self._flow = flow
        self._test_name = test_name
        self._test_base_name = test_base_name
        self._artifact_dir = artifact_dir
        self._results: list[TestCaseSummary] = []

    def lower_and_run_model(
        self,
        model: torch.nn.Module,
        inputs: Inputs,
        generate_random_test_inputs: bool = True,
        dynamic_shapes: Any = None,
    ) -> None:
        """Lowers and runs a model, and compares its results.

        Raises:
            RuntimeError: the backend failed. The cause of the exception is the error of the backend.
            unittest.SkipTest: the test could not run, and the reason is not the backend.
        """
        summary = run_test(
            model,
            inputs,
            self._flow,
            self._test_name,
            self._test_base_name,
            len(self._results),
            None,
            dynamic_shapes,
            generate_random_test_inputs,
            self._artifact_dir,
        )
        self._results.append(summary)
        if summary.result.is_backend_failure():
            raise RuntimeError(f"{self._test_name}: {summary.result.display_name()}") from summary.error
        if not summary.result.is_success():
            raise unittest.SkipTest(
                f"{self._test_name}: the model fails without the backend: {summary.error}"
            )


class TestCaseShim:
    """The object that is passed as `self` to the methods of a test class."""

    __test__ = False

    def __init__(self, test_runner: ModelRunner) -> None:
        self._test_runner = test_runner

    def _test_op(
        self,
        model: torch.nn.Module,
        args: Inputs,
        flow: TestFlow,
        generate_random_test_inputs: bool = False,
    ) -> None:
        self._test_runner.lower_and_run_model(
            model, args, generate_random_test_inputs=generate_random_test_inputs
        )


def dtype_test(func: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a method that runs once for each dtype. The dtype is the last argument of the method."""
    func.test_type = TestType.DTYPE  # type: ignore[attr-defined]
    return func


def wrap_test(original_func: Callable[..., None], test_type: TestType) -> Callable[..., None]:
    """Returns a pytest test that calls a method of a test class."""
    if test_type is TestType.STANDARD:

        def test(test_runner: ModelRunner) -> None:
            original_func(TestCaseShim(test_runner), test_runner._flow)

        return test

    import pytest

    @pytest.mark.parametrize("dtype", DTYPES, ids=dtype_to_str)
    def test_of_dtype(test_runner: ModelRunner, dtype: torch.dtype) -> None:
        original_func(TestCaseShim(test_runner), test_runner._flow, dtype)

    return test_of_dtype


def operator_test(cls: type) -> None:
    """A class decorator that adds the test methods of a class to its module, as pytest tests.

    It returns None, so that pytest does not collect the class.
    """
    module = sys.modules[cls.__module__]
    for name in dir(cls):
        if name.startswith("test"):
            method = getattr(cls, name)
            setattr(module, name, wrap_test(method, getattr(method, "test_type", TestType.STANDARD)))


def dtype_to_str(dtype: torch.dtype) -> str:
    """Returns the name of a dtype without `torch.`."""
    return str(dtype).removeprefix("torch.")
