"""The pytest plugin runs a test once for each flow, and skips and marks tests as the flow says."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.fresh import run_python

TEST = """
import torch

def test_tanh(test_runner):
    test_runner.lower_and_run_model(torch.nn.Tanh(), (torch.randn(3),))

def test_impossible(test_runner):
    test_runner.lower_and_run_model(torch.nn.Linear(3, 4), (torch.randn(2),))

def test_without_flow():
    pass
"""
RUN = """
import sys
import pytest
from rushlight.testing.suite import flows

flows.FLOWS = (flows.PORTABLE_TEST_FLOW, flows.XNNPACK_TEST_FLOW)
flows.XNNPACK_TEST_FLOW.xfail_patterns = ["impossible"]
flows.PORTABLE_TEST_FLOW.skip_patterns = ["tanh"]
{install}
sys.exit(pytest.main(["-p", "{plugin}", "-p", "no:cacheprovider", "-vv", *{arguments}, "test_models.py"]))
"""


def run(folder: Path, plugin: str, *arguments: str, install: str = "") -> subprocess.CompletedProcess[str]:
    (folder / "test_models.py").write_text(TEST)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    return run_python(RUN.format(plugin=plugin, arguments=arguments, install=install), cwd=folder)


@pytest.mark.parametrize(
    ("plugin", "install"),
    [
        ("rushlight.testing.suite.pytest_plugin", ""),
        (
            "executorch.backends.test.suite.conftest",
            "import rushlight.compat; rushlight.compat.install_as_executorch()",
        ),
    ],
)
def test_a_test_runs_with_each_flow(plugin: str, install: str, tmp_path: Path) -> None:
    printed = run(tmp_path, plugin, install=install).stdout
    for line in (
        "test_tanh[portable] SKIPPED (the flow portable skips",
        "test_tanh[xnnpack] PASSED",
        "test_impossible[portable] SKIPPED",
        "test_without_flow PASSED",
    ):
        assert f"test_models.py::{line}" in printed, printed


def test_markers_select_flows(tmp_path: Path) -> None:
    result = run(tmp_path, "rushlight.testing.suite.pytest_plugin", "-m", "backend_xnnpack and flow_xnnpack")
    assert "test_tanh[xnnpack] PASSED" in result.stdout and "portable" not in result.stdout, result.stdout
    assert "1 passed" in result.stdout


JSON_REPORT = """
import torch
from rushlight.testing.suite import flows, pytest_plugin
from rushlight.testing.suite.decorators import TestRunner

runner = TestRunner(flows.PORTABLE_TEST_FLOW, "test_tanh[portable]", "test_tanh")
runner.lower_and_run_model(torch.nn.Tanh(), (torch.randn(3),))

class Item:
    funcargs = {"test_runner": runner}

(run,) = pytest_plugin.pytest_json_runtest_metadata(Item())["subtests"]
assert run["Test ID"] == "test_tanh[portable]" and run["Result"] == "Pass", run
assert run["Undelegated Ops"] == {"aten::tanh": 1}, run

report = {"tests": [{"nodeid": "::test_tanh[xnnpack-float32]", "???": {"longrepr": "signal 11"}}, {}]}
pytest_plugin.pytest_json_modifyreport(report)
assert report["tests"][0]["metadata"]["subtests"] == [
    {
        "Test ID": "test_tanh[xnnpack-float32]",
        "Test Case": "test_tanh",
        "Flow": "xnnpack",
        "Result": "Fail",
        "Result Detail": "Process Crash",
        "Error": "signal 11",
    }
], report
"""


def test_the_json_report_contains_each_run(tmp_path: Path) -> None:
    result = run_python(JSON_REPORT, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
