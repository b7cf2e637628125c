"""The results of tests: results of single runs, summaries, and reports in CSV and as text."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import IntEnum
from typing import Any, TextIO

from torch.export import ExportedProgram
from typing_extensions import Self

from rushlight.ir.text_table import text_table
from rushlight.testing.error_statistics import ErrorStatistics

MAX_LOGGED_MODEL_OUTPUTS = 2
"""The number of outputs for which a CSV report has error columns."""

CSV_FIELD_NAMES = [
    "Test ID",
    "Test Case",
    "Subtest",
    "Flow",
    "Params",
    "Result",
    "Result Detail",
    "Delegated",
    "Quantize Time (s)",
    "Lower Time (s)",
    "Delegated Nodes",
    "Undelegated Nodes",
    "Delegated Ops",
    "Undelegated Ops",
    "PTE Size (Kb)",
    *(
        f"Output {index} {what}"
        for index in range(MAX_LOGGED_MODEL_OUTPUTS)
        for what in ("Error Max", "Error MAE", "SNR")
    ),
    "Error",
]
"""The columns of a CSV report."""

OP_COUNT_IGNORED_OPS = {"executorch_call_delegate", "getitem"}
"""Targets that `count_ops` does not count, because they are not operators of the model."""

_LONGEST_ERROR = 400


class TestResult(IntEnum):
    """The outcome of a test."""

    __test__ = False

    SUCCESS = 0
    SUCCESS_UNDELEGATED = 1
    SKIPPED = 2
    QUANTIZE_FAIL = 3
    LOWER_FAIL = 4
    PTE_LOAD_FAIL = 5
    PTE_RUN_FAIL = 6
    OUTPUT_MISMATCH_FAIL = 7
    UNKNOWN_FAIL = 8

    def is_success(self) -> bool:
        """Returns whether the results are correct, or nothing was delegated."""
        return self in (TestResult.SUCCESS, TestResult.SUCCESS_UNDELEGATED)

    def is_non_backend_failure(self) -> bool:
        """Returns whether the test could not run, and the reason is not the backend."""
        return self is TestResult.SKIPPED

    def is_backend_failure(self) -> bool:
        """Returns whether the backend failed."""
        return not self.is_success() and not self.is_non_backend_failure()

    def to_short_str(self) -> str:
        """Returns "Pass", "Skip" or "Fail"."""
        return "Pass" if self.is_success() else "Skip" if self.is_non_backend_failure() else "Fail"

    def to_detail_str(self) -> str:
        """Returns the step in which the test failed; empty if it passed."""
        return _FAILURES[self][0] if self in _FAILURES else ""

    def display_name(self) -> str:
        """Returns the name of the result in summaries."""
        if self in _FAILURES:
            return f"Fail ({_FAILURES[self][1]})"
        names = {
            TestResult.SUCCESS: "Success (Delegated)",
            TestResult.SUCCESS_UNDELEGATED: "Success (Undelegated)",
        }
        return names.get(self, "Skipped")


_FAILURES = {
    TestResult.QUANTIZE_FAIL: ("Quantization Failed", "Quantize"),
    TestResult.LOWER_FAIL: ("Lowering Failed", "Lowering"),
    TestResult.PTE_LOAD_FAIL: ("PTE Load Failed", "PTE Load"),
    TestResult.PTE_RUN_FAIL: ("PTE Run Failed", "PTE Run"),
    TestResult.OUTPUT_MISMATCH_FAIL: ("Output Mismatch", "Output Mismatch"),
    TestResult.UNKNOWN_FAIL: ("Unknown Failure", "Other"),
}


@dataclass
class TestCaseSummary:
    """The result of one run of a test.

    Attributes:
        backend: the name of the backend.
        base_name: the name of the test without flow and parameters.
        flow: the name of the flow.
        name: the full name of the test.
        subtest_index: the index of the run in its test.
        params: the parameters of the test, such as a dtype.
        result: the outcome.
        error: the exception if it failed.
        tensor_error_statistics: the error statistics of each output.
        quantize_time: the time of quantization.
        lower_time: the time of lowering.
        delegated_op_counts: the number of delegated nodes, by operator.
        undelegated_op_counts: the number of other nodes, by operator.
        pte_size_bytes: the size of the program file.
    """

    __test__ = False

    backend: str
    base_name: str
    flow: str
    name: str
    subtest_index: int
    params: dict[str, Any] | None
    result: TestResult
    error: Exception | None
    tensor_error_statistics: list[ErrorStatistics]
    quantize_time: timedelta | None = None
    lower_time: timedelta | None = None
    delegated_op_counts: Counter[str] | None = None
    undelegated_op_counts: Counter[str] | None = None
    pte_size_bytes: int | None = None

    def is_delegated(self) -> bool:
        """Returns whether an operator was delegated."""
        return any(count > 0 for count in (self.delegated_op_counts or {}).values())


@dataclass
class TestSessionState:
    """The state of a test session.

    Attributes:
        seed: the seed of random inputs.
        has_written_report_header: whether the header of the report has been written.
        report_path: the file of the CSV report, or None.
        test_case_summaries: the results of the tests that have run.
    """

    __test__ = False

    seed: int
    has_written_report_header: bool = False
    report_path: str | None = None
    test_case_summaries: list[TestCaseSummary] = field(default_factory=list)


@dataclass
class RunSummary:
    """The counts of results in a session.

    Attributes:
        aggregated_results: the number of runs, by result.
        num_test_cases: the number of runs.
        test_case_summaries: the runs.
        total_failed: the number of runs in which the backend failed.
        total_passed: the number of runs that passed.
        total_skipped: the number of runs that were skipped.
    """

    aggregated_results: dict[TestResult, int]
    num_test_cases: int
    test_case_summaries: list[TestCaseSummary]
    total_failed: int
    total_passed: int
    total_skipped: int

    @classmethod
    def from_session(cls, session: TestSessionState) -> Self:
        """Counts the results of a session."""
        results = [summary.result for summary in session.test_case_summaries]
        return cls(
            aggregated_results=dict(sorted(Counter(results).items())),
            num_test_cases=len(results),
            test_case_summaries=session.test_case_summaries,
            total_failed=sum(result.is_backend_failure() for result in results),
            total_passed=sum(result.is_success() for result in results),
            total_skipped=sum(result.is_non_backend_failure() for result in results),
        )


_session: TestSessionState | None = None


def begin_test_session(report_path: str | None, seed: int) -> None:
    """Begins a session.

    Args:
        report_path: the file of the CSV report, or None. Each test appends a line.
        seed: the seed of random inputs.
    """
    global _session
    assert _session is None, "a test session has begun already; call complete_test_session first"
    _session = TestSessionState(seed=seed, report_path=report_path)


def get_active_test_session() -> TestSessionState | None:
    """Returns the active session, or None."""
    return _session


def log_test_summary(summary: TestCaseSummary) -> None:
    """Adds a result to the active session and to its report. Does nothing if there is no session."""
    if _session is None:
        return
    _session.test_case_summaries.append(summary)
    if _session.report_path is None:
        return
    is_first = not _session.has_written_report_header
    with open(_session.report_path, "w" if is_first else "a", newline="") as file:
        if is_first:
            write_csv_header(file)
            _session.has_written_report_header = True
        write_csv_row(summary, file)


def complete_test_session() -> RunSummary:
    """Ends the session and returns the counts of its results."""
    global _session
    assert _session is not None, "there is no test session; call begin_test_session first"
    summary = RunSummary.from_session(_session)
    _session = None
    return summary


def count_ops(program: Mapping[str, ExportedProgram] | ExportedProgram) -> Counter[str]:
    """Returns the number of nodes in all methods, by operator."""
    programs: Iterable[ExportedProgram] = (
        [program] if isinstance(program, ExportedProgram) else program.values()
    )
    nodes = (node for item in programs for node in item.graph.nodes if node.op == "call_function")
    return Counter(name for node in nodes if (name := _name_of(node.target)) not in OP_COUNT_IGNORED_OPS)


def _name_of(target: Any) -> str:
    if callable(getattr(target, "name", None)):
        return str(target.name())
    return str(getattr(target, "__name__", target))


def write_csv_header(output: TextIO) -> None:
    """Writes the names of the columns."""
    csv.DictWriter(output, CSV_FIELD_NAMES).writeheader()


def write_csv_row(record: TestCaseSummary, output: TextIO) -> None:
    """Writes the row of a test."""
    csv.DictWriter(output, CSV_FIELD_NAMES).writerow(report_row(record))


def report_row(record: TestCaseSummary) -> dict[str, object]:
    """Returns the row of a test: a value for each column."""
    size = record.pte_size_bytes
    row: dict[str, object] = {
        "Test ID": record.name,
        "Test Case": record.base_name,
        "Subtest": record.subtest_index,
        "Flow": record.flow,
        "Params": json.dumps({key: str(value) for key, value in record.params.items()})
        if record.params is not None
        else "",
        "Result": record.result.to_short_str(),
        "Result Detail": record.result.to_detail_str(),
        "Delegated": str(record.is_delegated()),
        "Quantize Time (s)": _seconds(record.quantize_time),
        "Lower Time (s)": _seconds(record.lower_time),
        "Delegated Nodes": _sum_op_counts(record.delegated_op_counts),
        "Undelegated Nodes": _sum_op_counts(record.undelegated_op_counts),
        "Delegated Ops": _counts(record.delegated_op_counts),
        "Undelegated Ops": _counts(record.undelegated_op_counts),
        "PTE Size (Kb)": f"{size / 1000:.3f}" if size else "",
        "Error": _shortened(str(record.error)) if record.error is not None else "",
    }
    for index, errors in enumerate(record.tensor_error_statistics[:MAX_LOGGED_MODEL_OUTPUTS]):
        for what, number in (
            ("Error Max", errors.error_max),
            ("Error MAE", errors.error_mae),
            ("SNR", errors.sqnr),
        ):
            row[f"Output {index} {what}"] = "" if number is None else f"{number:.3f}"
    return row


def _seconds(time: timedelta | None) -> str | None:
    return None if time is None else f"{time.total_seconds():.3f}"


def _sum_op_counts(counts: Counter[str] | None) -> int | None:
    """Returns the number of nodes, or None if there are no counts."""
    return None if counts is None else sum(counts.values())


def _counts(counts: Counter[str] | None) -> str:
    return "" if counts is None else str(dict(sorted(counts.items())))


def _shortened(text: str) -> str:
    half = _LONGEST_ERROR // 2
    return text if len(text) <= _LONGEST_ERROR else f"{text[:half]}...{text[-half:]}"


def results_table(summaries: Sequence[TestCaseSummary]) -> str:
    """Formats results as a table with one line for each test and one column for each flow.

    A cell contains "pass", "-" if nothing was delegated, "skip", or the step that failed.
    """
    flows = list(dict.fromkeys(summary.flow for summary in summaries))
    cells: dict[str, dict[str, TestResult]] = {}
    for summary in summaries:
        row = cells.setdefault(summary.base_name, {})
        row[summary.flow] = max(summary.result, row.get(summary.flow, TestResult.SUCCESS))
    rows = [[name, *(_cell(row.get(flow)) for flow in flows)] for name, row in cells.items()]
    return text_table(["operator", *flows], rows, right=frozenset())


def _cell(result: TestResult | None) -> str:
    if result is None:
        return ""
    words = {
        TestResult.SUCCESS: "pass",
        TestResult.SUCCESS_UNDELEGATED: "-",
        TestResult.SKIPPED: "skip",
    }
    return words.get(result, result.to_detail_str().lower())
