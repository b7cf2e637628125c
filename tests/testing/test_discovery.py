"""Discovery of the tests of a suite in a folder, without tests of other flows."""

from __future__ import annotations

import re
import types
import unittest
from pathlib import Path

import pytest

from rushlight.testing.suite.discovery import TestFilter, discover_tests

TESTS = """
import unittest

from rushlight.testing.suite.flow import TestFlow


def of(name, backend):
    def mark(method):
        method._flow = TestFlow(name, backend, lambda *args: None)
        return method

    return mark


class Operators(unittest.TestCase):
    @of("plain", "cpu")
    def test_add_plain(self):
        pass

    @of("int8", "cpu")
    def test_add_int8(self):
        pass

    @of("plain_other", "other")
    def test_mul_other(self):
        pass
"""


def names(folder: Path, test_filter: TestFilter) -> set[str]:
    module = types.ModuleType("suite")
    module.__file__ = str(folder / "__init__.py")
    found = discover_tests(module, test_filter)
    return {case.id().rpartition(".")[2] for case in found if isinstance(case, unittest.TestCase)}


def test_filters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "test_of_discovery.py").write_text(TESTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    everything = {"test_add_plain", "test_add_int8", "test_mul_other"}
    assert names(tmp_path, TestFilter(None, None, None)) == everything
    assert names(tmp_path, TestFilter({"other"}, None, None)) == {"test_mul_other"}
    assert names(tmp_path, TestFilter(None, {"int8"}, None)) == {"test_add_int8"}
    assert names(tmp_path, TestFilter({"cpu"}, None, re.compile("plain"))) == {"test_add_plain"}


def test_tests_that_cannot_be_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "test_broken_discovery.py").write_text("import no_such_module")
    assert names(tmp_path, TestFilter({"none"}, None, None)) == {"test_broken_discovery"}
    (tmp_path / "test_without_flow.py").write_text(
        "import unittest\n\n\nclass Plain(unittest.TestCase):\n    def test_it(self):\n        pass\n"
    )
    with pytest.raises(RuntimeError, match=r"Plain\.test_it has no flow"):
        names(tmp_path, TestFilter(None, None, None))
    with pytest.raises(RuntimeError, match="suite has no file"):
        discover_tests(types.ModuleType("suite"), TestFilter(None, None, None))
