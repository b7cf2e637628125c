"""Runs models with flows. Also has the command that runs the suite of operator tests."""

from __future__ import annotations

import argparse
import hashlib
import random
import re
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch

from rushlight.compiler import EdgeProgramManager
from rushlight.testing.error_statistics import ErrorStatistics
from rushlight.testing.stages import Inputs, StageType
from rushlight.testing.suite.flow import TestFlow
from rushlight.testing.suite.flows import all_flows
from rushlight.testing.suite.operators import CASES, Case
from rushlight.testing.suite.reporting import (
    RunSummary,
    TestCaseSummary,
    TestResult,
    begin_test_session,
    complete_test_session,
    count_ops,
    get_active_test_session,
    log_test_summary,
    results_table,
)
from rushlight.testing.tester import Tester

ATOL, RTOL = 1e-1, 4e-2
"""The tolerances of results. Outputs are small numbers, and the tolerances allow int8 quantization."""

_SEEDS = 100_000_000


def run_test(
    model: torch.nn.Module,
    inputs: Inputs,
    flow: TestFlow,
    test_name: str,
    test_base_name: str,
    subtest_index: int,
    params: dict[str, Any] | None,
    dynamic_shapes: Any = None,
    generate_random_test_inputs: bool = True,
    artifact_dir: str | None = None,
) -> TestCaseSummary:
    """Lowers a model, runs it and compares the results. The summary also describes failures.

    Args:
        model: the model.
        inputs: the example inputs of the model.
        flow: describes how the model is lowered.
        test_name: the full name of the test.
        test_base_name: the name without flow and parameters. The seed of the inputs is computed from it.
        subtest_index: the index of the run in its test.
        params: the parameters of the test.
        dynamic_shapes: the dynamic dimensions, in the format of torch.export.
        generate_random_test_inputs: compare on random inputs instead of the example inputs.
        artifact_dir: a folder for the program, its inputs and the reference outputs.

    Returns:
        The summary. It is also added to the active session.
    """
    summary = TestCaseSummary(
        flow.backend,
        test_base_name,
        flow.name,
        test_name,
        subtest_index,
        params,
        TestResult.UNKNOWN_FAIL,
        None,
        [],
    )
    torch.manual_seed(_seed(test_base_name))
    run = _Run(model, inputs, flow, summary, dynamic_shapes)
    run.inputs_to_compare = None if generate_random_test_inputs else inputs
    if artifact_dir is not None:
        suffix = f"_{subtest_index}" if subtest_index else ""
        run.artifacts = artifact_dir, test_base_name.removeprefix("test_") + suffix
    try:
        summary.result = run.result()
    except _Failed as failure:
        summary.result, summary.error = failure.result, failure.error
    log_test_summary(summary)
    return summary


class _Failed(Exception):
    """An error of a step, with the result of the test that follows from it."""

    def __init__(self, result: TestResult, error: Exception) -> None:
        super().__init__(str(error))
        self.result, self.error = result, error


class _Step:
    """A context manager that converts an error in a step to a test result.

    Args:
        result: the test result for an error.
        mismatch: the test result for an AssertionError; None means `result`.
    """

    def __init__(self, result: TestResult, mismatch: TestResult | None = None) -> None:
        self.result, self.mismatch = result, mismatch

    def __enter__(self) -> float:
        return time.perf_counter()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception):
            is_mismatch = self.mismatch is not None and isinstance(error, AssertionError)
            result = self.mismatch if is_mismatch and self.mismatch is not None else self.result
            raise _Failed(result, error) from error


class _Run:
    """The steps of one test."""

    def __init__(
        self,
        model: torch.nn.Module,
        inputs: Inputs,
        flow: TestFlow,
        summary: TestCaseSummary,
        dynamic_shapes: Any,
    ) -> None:
        self.model, self.inputs, self.flow, self.summary = model, inputs, flow, summary
        self.dynamic_shapes = dynamic_shapes
        self.inputs_to_compare: Inputs | None = None
        self.artifacts: tuple[str, str] | None = None

    def result(self) -> TestResult:
        """Runs all steps and returns the test result."""
        with _Step(TestResult.SKIPPED):
            self.model(*self.inputs)
        with _Step(TestResult.UNKNOWN_FAIL):
            tester = self.flow.tester_factory(self.model, self.inputs)
        if self.flow.quantize:
            self._quantize(tester)
        with _Step(TestResult.SKIPPED):
            stage = tester._get_default_stage(StageType.EXPORT, dynamic_shapes=self.dynamic_shapes)
            tester.export(stage)
        self._lower(tester)
        if self.flow.is_delegated and not self.summary.is_delegated():
            return TestResult.SUCCESS_UNDELEGATED
        with _Step(TestResult.UNKNOWN_FAIL):
            tester.to_executorch()
            if self.flow.supports_serialize:
                self.summary.pte_size_bytes = len(tester.serialize().get_artifact())
        self._compare(tester)
        return TestResult.SUCCESS

    def _quantize(self, tester: Tester) -> None:
        factory = self.flow.quantize_stage_factory
        with _Step(TestResult.QUANTIZE_FAIL) as start:
            try:
                tester.quantize(factory() if factory is not None else None)
            finally:
                self.summary.quantize_time = timedelta(seconds=time.perf_counter() - start)

    def _lower(self, tester: Tester) -> None:
        with _Step(TestResult.LOWER_FAIL) as start:
            try:
                tester.to_edge_transform_and_lower(generate_etrecord=True)
            finally:
                self.summary.lower_time = timedelta(seconds=time.perf_counter() - start)
            manager: EdgeProgramManager = tester.get_artifact()
            assert manager._etrecord is not None
            undelegated = count_ops(manager._edge_programs)
            self.summary.undelegated_op_counts = undelegated
            self.summary.delegated_op_counts = count_ops(manager._etrecord.edge_programs) - undelegated

    def _compare(self, tester: Tester) -> None:
        errors: list[ErrorStatistics] = self.summary.tensor_error_statistics
        folder, name = self.artifacts or (None, None)
        with _Step(TestResult.PTE_RUN_FAIL, mismatch=TestResult.OUTPUT_MISMATCH_FAIL):
            tester.run_method_and_compare_outputs(
                inputs=self.inputs_to_compare,
                statistics_callback=errors.append,
                atol=ATOL,
                rtol=RTOL,
                artifact_dir=folder,
                artifact_name=name,
            )
        if folder is not None and self.flow.supports_serialize:
            tester.dump_artifact(str(Path(folder) / f"{name}.pte"), StageType.SERIALIZE)


def _seed(name: str) -> int:
    """The seed of a test's inputs: equal for all backends, and dependent on the seed of the session."""
    session = get_active_test_session()
    seed = random.randrange(_SEEDS) if session is None else session.seed
    digest = hashlib.sha256(name.encode()).digest()
    return int.from_bytes(digest[:8], "little") % _SEEDS + seed


def run_cases(cases: Sequence[Case], flows: Sequence[TestFlow]) -> None:
    """Runs each case with each flow, in the active session."""
    for case in cases:
        for flow in flows:
            test_name = f"{case.name}[{flow.name}]"
            if flow.should_skip_test(case.name)[0]:
                continue
            torch.manual_seed(_seed(case.name))
            model, inputs = case.make()
            run_test(model, inputs, flow, test_name, case.name, 0, None, generate_random_test_inputs=False)


def print_summary(summary: RunSummary) -> None:
    """Prints the table of results, the errors of failed tests, and the counts of results."""
    print(results_table(summary.test_case_summaries))
    print()
    for case in summary.test_case_summaries:
        if case.result.is_backend_failure():
            first = (str(case.error).splitlines() or [""])[0]
            print(f"{case.name}: {case.result.to_detail_str().lower()}: {type(case.error).__name__}: {first}")
    print(f"{summary.total_passed} passed, {summary.total_failed} failed, {summary.total_skipped} skipped")


def parse_args(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Reads the arguments of the command."""
    parser = argparse.ArgumentParser(
        prog="python -m rushlight.testing.suite", description="Test a list of operators on backends."
    )
    parser.add_argument("-b", "--backend", nargs="*", help="the backends to test (default: all)")
    parser.add_argument(
        "-l", "--flow", nargs="*", help="the flows to test (default: all flows of the backends)"
    )
    parser.add_argument(
        "-f", "--filter", help="test only operators whose name contains this regular expression"
    )
    parser.add_argument("-r", "--report", help="write the results to this file as CSV")
    parser.add_argument("--seed", type=int, help="the seed of random inputs")
    return parser.parse_args(arguments)


def runner_main(arguments: Sequence[str] | None = None) -> int:
    """Runs the suite of operator tests.

    Args:
        arguments: the arguments of the command; None means the arguments of the process.

    Returns:
        0 if no backend failed, 1 if one did, 2 if no operator or flow is selected.
    """
    args = parse_args(arguments)
    flows = [
        flow
        for flow in all_flows().values()
        if (args.backend is None or flow.backend in args.backend)
        and (args.flow is None or flow.name in args.flow)
    ]
    cases = [case for case in CASES if args.filter is None or re.search(args.filter, case.name)]
    if not flows or not cases:
        print(f"no operator or no flow is selected; the flows are {', '.join(all_flows())}")
        return 2
    seed = random.randrange(_SEEDS) if args.seed is None else args.seed
    print(f"seed {seed}")
    begin_test_session(args.report, seed)
    run_cases(cases, flows)
    summary = complete_test_session()
    print_summary(summary)
    return int(summary.total_failed > 0)
