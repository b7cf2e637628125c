"""Finds the selected tests of a suite."""

from __future__ import annotations

import unittest
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from re import Pattern
from types import ModuleType

from rushlight.testing.suite.flow import TestFlow


@dataclass
class TestFilter:
    """Selects tests.

    Attributes:
        backends: the backends of the selected tests; None means all.
        flows: the flows of the selected tests; None means all.
        name_regex: a pattern that the name of a test must contain; None means any name.
    """

    __test__ = False

    backends: set[str] | None
    flows: set[str] | None
    name_regex: Pattern[str] | None


def discover_tests(root_module: ModuleType, test_filter: TestFilter) -> unittest.TestSuite:
    """Returns the tests in the folder of a module that a filter selects.

    Files that cannot be imported become tests that fail when they run.

    Raises:
        RuntimeError: the module has no file, or a test has no flow.
    """
    file = getattr(root_module, "__file__", None)
    if file is None:
        raise RuntimeError(f"{root_module.__name__} has no file, so its folder of tests is not known")
    found = unittest.TestLoader().discover(str(Path(file).parent))
    return unittest.TestSuite(case for case in _cases(found) if _is_selected(case, test_filter))


def _cases(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from _cases(item)
        else:
            yield item


def _is_selected(case: unittest.TestCase, test_filter: TestFilter) -> bool:
    if type(case).__name__ == "_FailedTest":
        return True
    method = getattr(case, case._testMethodName)
    flow = getattr(method, "_flow", None)
    if not isinstance(flow, TestFlow):
        raise RuntimeError(
            f"{case.id()} has no flow; use the decorators of the suite, which add it to the test"
        )
    wanted = ((test_filter.backends, flow.backend), (test_filter.flows, flow.name))
    if any(names is not None and name not in names for names, name in wanted):
        return False
    return test_filter.name_regex is None or test_filter.name_regex.search(case.id()) is not None
