"""The table of operators runs on every backend. The results are counted, printed and written."""

from __future__ import annotations

import csv
import sys
import unittest
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import nn

from rushlight.delegate.partitioner import Partitioner, PartitionResult
from rushlight.ir.errors import CompileError
from rushlight.testing import Tester, stages
from rushlight.testing.stages import StageType
from rushlight.testing.suite import decorators, flows, reporting, runner
from rushlight.testing.suite.flow import TestFlow
from rushlight.testing.suite.flows import all_flows
from rushlight.testing.suite.operators import CASES
from rushlight.testing.suite.reporting import TestResult


class Failing(Partitioner):
    def partition(self, exported_program: torch.export.ExportedProgram) -> PartitionResult:
        raise CompileError("this backend takes nothing")


class FailingTester(Tester):
    """A backend that cannot lower anything."""

    def __init__(self, module: nn.Module, example_inputs: stages.Inputs) -> None:
        own = {StageType.TO_EDGE_TRANSFORM_AND_LOWER: lambda: stages.ToEdgeTransformAndLower(Failing)}
        super().__init__(module, example_inputs, Tester.default_stage_classes() | own)


class WrongStage(stages.Serialize):
    """Returns wrong results."""

    def run_artifact(self, inputs: stages.Inputs) -> list[torch.Tensor]:
        return [result + 1 for result in super().run_artifact(inputs)]


class WrongTester(Tester):
    def __init__(self, module: nn.Module, example_inputs: stages.Inputs) -> None:
        classes = Tester.default_stage_classes() | {StageType.SERIALIZE: WrongStage}
        super().__init__(module, example_inputs, classes)


FAILING = TestFlow("failing", "failing", FailingTester)
WRONG = TestFlow("wrong", "wrong", WrongTester, is_delegated=False)


@pytest.fixture
def session() -> Iterator[None]:
    reporting.begin_test_session(None, 1)
    yield
    if reporting.get_active_test_session() is not None:
        reporting.complete_test_session()


@pytest.mark.parametrize("flow", list(all_flows().values()), ids=str)
def test_operators_of_each_flow(flow: TestFlow, session: None) -> None:
    """`make operators` runs the whole table. This test runs a part of it."""
    names = {"linear_relu", "conv2d_same_even", "softmax", "cat", "max_dim_of_image", "cumsum"}
    runner.run_cases([case for case in CASES if case.name in names], [flow])
    summary = reporting.complete_test_session()
    errors = [(case.name, case.error) for case in summary.test_case_summaries if case.error is not None]
    assert not errors and summary.total_passed == len(names) == summary.num_test_cases
    delegated = sum(case.is_delegated() for case in summary.test_case_summaries)
    assert (delegated > 0) == flow.is_delegated


def test_failures_are_told_apart(session: None) -> None:
    linear, inputs = nn.Linear(4, 3), (torch.randn(2, 4),)
    run = runner.run_test
    assert run(linear, inputs, FAILING, "a", "a", 0, None).result is TestResult.LOWER_FAIL
    wrong = run(linear, inputs, WRONG, "b", "b", 0, None)
    assert wrong.result is TestResult.OUTPUT_MISMATCH_FAIL and not wrong.is_delegated()
    assert wrong.tensor_error_statistics[0].error_max == pytest.approx(1, abs=1e-3)
    bad = run(linear, (torch.randn(2, 5),), flows.PORTABLE_TEST_FLOW, "c", "c", 0, None)
    assert bad.result is TestResult.SKIPPED and isinstance(bad.error, RuntimeError)
    summary = reporting.complete_test_session()
    assert (summary.total_failed, summary.total_skipped, summary.total_passed) == (2, 1, 0)
    table = reporting.results_table(summary.test_case_summaries).splitlines()
    assert [line.split() for line in table[2:]] == [
        ["a", "lowering", "failed"],
        ["b", "output", "mismatch"],
        ["c", "skip"],
    ]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "report.csv"
    chosen = "^(conv2d_relu|linear)$"
    arguments = ["--backend", "portable", "cpu", "--flow", "portable", "cpu", "--filter", chosen]
    assert runner.runner_main([*arguments, "--report", str(report), "--seed", "7"]) == 0
    printed = capsys.readouterr().out
    assert "operator     portable  cpu" in printed and "conv2d_relu  pass      pass" in printed
    assert "4 passed, 0 failed, 0 skipped" in printed
    rows = list(csv.DictReader(report.open()))
    assert [row["Test ID"] for row in rows] == [
        "conv2d_relu[portable]",
        "conv2d_relu[cpu]",
        "linear[portable]",
        "linear[cpu]",
    ]
    assert {row["Result"] for row in rows} == {"Pass"}
    assert [row["Delegated"] for row in rows] == ["False", "True"] * 2
    assert "'aten::relu': 1" in rows[1]["Delegated Ops"] and float(rows[1]["Output 0 Error Max"]) < 1e-3
    assert runner.runner_main(["--filter", "no such operator"]) == 2
    assert "no flow is selected" in capsys.readouterr().out


def test_flows_skip_tests() -> None:
    flow = TestFlow(
        "some", "some", Tester, skip_patterns=["conv"], param_skip_reasons={"dtype": {torch.float16: "slow"}}
    )
    assert flow.should_skip_test("test_conv2d")[0]
    assert flow.should_skip_test("test_add", {"dtype": torch.float16}) == (True, "slow")
    assert flow.should_skip_test("test_add", {"dtype": torch.float32}) == (False, "")
    assert not flow.should_xfail_test("test_add")


def test_classes_become_tests(session: None) -> None:
    class Tanh(decorators.OperatorTest):
        def test_plain(self, flow: TestFlow) -> None:
            self._test_op(nn.Tanh(), (torch.randn(3),), flow)  # type: ignore[attr-defined]

        @decorators.dtype_test
        def test_dtype(self, flow: TestFlow, dtype: torch.dtype) -> None:
            self._test_op(nn.Tanh(), (torch.randn(3, dtype=dtype),), flow)  # type: ignore[attr-defined]

    module = sys.modules[__name__]
    assert decorators.operator_test(Tanh) is None  # type: ignore[func-returns-value]
    try:
        test_runner = decorators.TestRunner(flows.PORTABLE_TEST_FLOW, "conv2d_relu[portable]", "conv2d_relu")
        module.test_plain(test_runner)  # type: ignore[attr-defined]
        module.test_dtype(test_runner, torch.float32)  # type: ignore[attr-defined]
        assert [summary.subtest_index for summary in test_runner._results] == [0, 1]
        failing = decorators.TestRunner(FAILING, "tanh[failing]", "tanh")
        with pytest.raises(RuntimeError, match=r"tanh\[failing\]: Fail \(Lowering\)"):
            failing.lower_and_run_model(nn.Tanh(), (torch.randn(3),))
        with pytest.raises(unittest.SkipTest, match="the model fails without the backend"):
            failing.lower_and_run_model(nn.Linear(3, 4), (torch.randn(2),))
    finally:
        del module.test_plain, module.test_dtype  # type: ignore[attr-defined]


def test_operators_have_one_line_each() -> None:
    names = [case.name for case in CASES]
    assert len(names) == len(set(names)) > 100
