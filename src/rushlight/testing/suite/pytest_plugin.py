"""A pytest plugin that runs tests with all flows: `pytest -p rushlight.testing.suite.pytest_plugin`.

A test that has the fixture `test_runner` runs once for each flow. The markers `flow_<name>` and
`backend_<name>` select tests by flow and by backend. If the plugin pytest-json-report is installed, its
report also contains the results of each run.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import pytest

from rushlight.testing.suite.decorators import TestRunner
from rushlight.testing.suite.flow import TestFlow
from rushlight.testing.suite.flows import all_flows
from rushlight.testing.suite.reporting import TestCaseSummary, TestResult, report_row

ARTIFACTS_VARIABLE = "GOLDEN_ARTIFACTS_DIR"
"""The environment variable that names a folder for programs, inputs and reference outputs."""


def _flow_of(item: pytest.Item) -> tuple[TestFlow | None, dict[str, Any]]:
    """Returns the flow and the parameters of a test. The flow is None for a test without `test_runner`."""
    call = getattr(item, "callspec", None)
    parameters: dict[str, Any] = call.params if call is not None else {}
    flow = parameters.get("test_runner")
    return (flow if isinstance(flow, TestFlow) else None), parameters


def pytest_configure(config: pytest.Config) -> None:
    """Registers the markers of flows and backends."""
    flows = all_flows().values()
    for flow in flows:
        config.addinivalue_line("markers", f"flow_{flow.name}: tests of the flow {flow.name}")
    for backend in dict.fromkeys(flow.backend for flow in flows):
        config.addinivalue_line("markers", f"backend_{backend}: tests of the backend {backend}")


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Marks the tests that a flow skips, and those that must fail."""
    for item in items:
        flow, parameters = _flow_of(item)
        if flow is None:
            continue
        name = getattr(item, "originalname", None) or item.name
        is_skipped, reason = flow.should_skip_test(name, parameters)
        if is_skipped:
            item.add_marker(pytest.mark.skip(reason))
        elif flow.should_xfail_test(name):
            reason = f"tests of the flow {flow.name} with this name must fail"
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs each test with the fixture `test_runner` once for each flow."""
    if "test_runner" not in metafunc.fixturenames:
        return
    flows = [
        pytest.param(
            flow,
            marks=[
                getattr(pytest.mark, f"flow_{flow.name}"),
                getattr(pytest.mark, f"backend_{flow.backend}"),
            ],
        )
        for flow in all_flows().values()
    ]
    metafunc.parametrize("test_runner", flows, indirect=True, ids=str)


@pytest.fixture
def test_runner(request: pytest.FixtureRequest) -> TestRunner:
    """The runner of a test: its method `lower_and_run_model` lowers and runs a model with the flow."""
    flow: TestFlow = request.param
    folder = os.environ.get(ARTIFACTS_VARIABLE)
    base_name = getattr(request.node, "originalname", None) or request.node.name
    return TestRunner(flow, request.node.name, base_name, os.path.join(folder, flow.name) if folder else None)


@pytest.hookimpl(optionalhook=True)
def pytest_json_runtest_metadata(item: pytest.Item) -> dict[str, Any]:
    """Returns the results of a test for the JSON report, in the columns of the CSV report."""
    runner = getattr(item, "funcargs", {}).get("test_runner")
    results = runner._results if isinstance(runner, TestRunner) else []
    return {"subtests": [report_row(result) | _counts_of(result) for result in results]}


def _counts_of(result: TestCaseSummary) -> dict[str, Any]:
    """Returns the numbers of nodes by operator, which are texts in a CSV report."""
    columns = {
        "Delegated Ops": result.delegated_op_counts,
        "Undelegated Ops": result.undelegated_op_counts,
    }
    return {name: dict(counts) for name, counts in columns.items() if counts}


@pytest.hookimpl(optionalhook=True)
def pytest_json_modifyreport(json_report: dict[str, Any]) -> None:
    """Adds a failed run to each test whose process crashed."""
    for test in json_report["tests"]:
        runs = test.setdefault("metadata", {}).setdefault("subtests", [])
        if "???" not in test:
            continue
        name = test["nodeid"].removeprefix("::")
        base_name, _, parameters = name.removesuffix("]").partition("[")
        runs.append(
            {
                "Test ID": name,
                "Test Case": base_name,
                "Flow": parameters.partition("-")[0],
                "Result": TestResult.UNKNOWN_FAIL.to_short_str(),
                "Result Detail": "Process Crash",
                "Error": test["???"].get("longrepr", "the process crashed"),
            }
        )
