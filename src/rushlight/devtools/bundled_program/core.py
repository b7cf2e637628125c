"""Creates bundled programs from programs and test cases."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, cast

import torch

from rushlight.devtools.bundled_program import schema
from rushlight.devtools.bundled_program.config import ConfigValue, MethodTestCase, MethodTestSuite
from rushlight.devtools.bundled_program.errors import BundleError
from rushlight.devtools.bundled_program.version import BUNDLED_PROGRAM_SCHEMA_VERSION
from rushlight.format import program as pte
from rushlight.format.pte import read_pte
from rushlight.format.text import scalar_type_name

__all__ = ["BundleError", "BundledProgram"]


class HasBuffer(Protocol):
    """A compiled program: `ExecutorchProgramManager` or `CompiledProgram`."""

    @property
    def buffer(self) -> bytes:
        """The bytes of the `.pte` file."""


_TYPES = {pte.Int: int, pte.Bool: bool, pte.Double: float}


class BundledProgram:
    """A program and the test cases of its methods.

    Attributes:
        executorch_program: the program, or None if the program was given as a file.
        method_test_suites: the test cases by method, in the order of the names of the methods.

    Args:
        executorch_program: the program; None if `pte_file_path` is given.
        method_test_suites: the test cases.
        pte_file_path: the path of a `.pte` file with the program; None if `executorch_program` is given.

    Raises:
        BundleError: a test case does not fit its method. The message names the test case and the value.
        RuntimeError: both the program and its path are given, or neither of them.
        FormatError: the file is not a program.
        OSError: the file cannot be read.
    """

    def __init__(
        self,
        executorch_program: HasBuffer | None,
        method_test_suites: Sequence[MethodTestSuite],
        pte_file_path: str | None = None,
    ) -> None:
        if (executorch_program is None) == (pte_file_path is None):
            raise RuntimeError("exactly one of executorch_program and pte_file_path must be given")
        self.executorch_program = executorch_program
        self.method_test_suites = sorted(method_test_suites, key=lambda suite: suite.method_name)
        if executorch_program is not None:
            self._program = bytes(executorch_program.buffer)
        else:
            self._program = Path(cast(str, pte_file_path)).read_bytes()
        self._in_schema: schema.BundledProgram | None = None
        self._plans = {plan.name: plan for plan in read_pte(self._program).program.execution_plan}
        names = [suite.method_name for suite in self.method_test_suites]
        for name in names:
            if names.count(name) > 1:
                raise BundleError(
                    f"there are two test suites of method {name!r}; put all test cases of a method in one "
                    "suite"
                )
        for suite in self.method_test_suites:
            if suite.method_name not in self._plans:
                known = ", ".join(sorted(self._plans))
                raise BundleError(f"the program has no method {suite.method_name!r}; it has {known}")
            for index, case in enumerate(suite.test_cases):
                _check_case(self._plans[suite.method_name], index, case)

    def serialize_to_schema(self) -> schema.BundledProgram:
        """Returns the tables of the .bpte file. The first call creates them."""
        if self._in_schema is None:
            self._in_schema = schema.BundledProgram(
                version=BUNDLED_PROGRAM_SCHEMA_VERSION,
                method_test_suites=[self._suite(suite) for suite in self.method_test_suites],
                program=self._program,
            )
        return self._in_schema

    def _suite(self, suite: MethodTestSuite) -> schema.BundledMethodTestSuite:
        plan = self._plans[suite.method_name]
        return schema.BundledMethodTestSuite(
            suite.method_name,
            [
                schema.BundledMethodTestCase(
                    _values(plan, plan.inputs, case.inputs),
                    _values(plan, plan.outputs, case.expected_outputs),
                )
                for case in suite.test_cases
            ],
        )


def _check_case(plan: pte.ExecutionPlan, index: int, case: MethodTestCase) -> None:
    where = f"test case {index} of method {plan.name!r}"
    _check_values(f"{where}: input", plan, plan.inputs, case.inputs)
    if case.expected_outputs:
        _check_values(f"{where}: expected output", plan, plan.outputs, case.expected_outputs)


def _check_values(
    what: str, plan: pte.ExecutionPlan, places: Sequence[int], values: Sequence[ConfigValue]
) -> None:
    if len(values) != len(places):
        raise BundleError(f"{what}s: the method has {len(places)}, but the test case has {len(values)}")
    for index, (place, value) in enumerate(zip(places, values, strict=True)):
        fault = _fault(plan.values[place].val, value)
        if fault:
            raise BundleError(f"{what} {index}: {fault}")


def _fault(expected: object, value: ConfigValue) -> str | None:
    """Returns why a value does not fit the value in the program, or None if it fits."""
    if not isinstance(expected, pte.Tensor):
        kind = _TYPES.get(type(expected))
        if kind is None:
            return f"bundled programs do not support values of type {type(expected).__name__}"
        return None if type(value) is kind else f"{value!r} is not of type {kind.__name__}"
    if not isinstance(value, torch.Tensor):
        return f"{value!r} is not a tensor"
    declared = f"{scalar_type_name(expected.scalar_type)}{expected.sizes}"
    given = f"{value.dtype}{list(value.shape)}".removeprefix("torch.")
    if _scalar_type(value.dtype) is not expected.scalar_type:
        return f"{given} is given, but the method has {declared}"
    is_bound = expected.shape_dynamism is pte.TensorShapeDynamism.DYNAMIC_BOUND
    fits = len(value.shape) == len(expected.sizes) and all(
        given == size or (is_bound and given <= size) or _is_unbound(expected)
        for given, size in zip(value.shape, expected.sizes, strict=True)
    )
    return (
        None if fits else f"{given} is given, but the method has {declared}{' at most' if is_bound else ''}"
    )


def _is_unbound(tensor: pte.Tensor) -> bool:
    return tensor.shape_dynamism is pte.TensorShapeDynamism.DYNAMIC_UNBOUND


def _scalar_type(dtype: torch.dtype) -> pte.ScalarType | None:
    name = {
        torch.uint8: "BYTE",
        torch.int8: "CHAR",
        torch.int16: "SHORT",
        torch.int32: "INT",
        torch.int64: "LONG",
        torch.float16: "HALF",
        torch.float32: "FLOAT",
        torch.float64: "DOUBLE",
    }.get(dtype, str(dtype).removeprefix("torch.").upper())
    return pte.ScalarType.__members__.get(name)


def _values(
    plan: pte.ExecutionPlan, places: Sequence[int], values: Sequence[ConfigValue]
) -> list[schema.Value]:
    return [
        schema.Value(_value(plan.values[place].val, value))
        for place, value in zip(places, values, strict=False)
    ]


def _value(expected: Any, value: ConfigValue) -> schema.ValueUnion:
    if isinstance(value, torch.Tensor):
        order = list(expected.dim_order)
        elements = value.detach().cpu().resolve_conj().resolve_neg().permute(order).contiguous().reshape(-1)
        return schema.Tensor(
            scalar_type=expected.scalar_type,
            sizes=list(value.shape),
            data=elements.view(torch.uint8).numpy().tobytes(),
            dim_order=order,
        )
    if isinstance(value, bool):
        return schema.Bool(value)
    return schema.Int(value) if isinstance(value, int) else schema.Double(value)
