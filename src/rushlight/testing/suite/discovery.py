"""Finds the tests of a suite, and leaves out tests that were not selected."""

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
    """Which tests are taken.

    Attributes:
        backends: the backends of their flows; None means all.
        flows: the names of their flows; None means all.
        name_regex: what their names contain; None means any.
    """

    __test__ = False

    backends: set[str] | None
    flows: set[str] | None
    name_regex: Pattern[str] | None


def discover_tests(root_module: ModuleType, test_filter: TestFilter) -> unittest.TestSuite:
    """Returns the tests in the folder of a module that a filter selects.

    Tests that cannot be imported are taken too: they fail when they run.

    Raises:
        RuntimeError: the module has no file, or a test has no flow.
    """
    file = getattr(root_module, "__file__", None)
    if file is None:
        raise RuntimeError(f"{root_module.__name__} has no file, so that there is no folder to search")
    found = unittest.TestLoader().discover(str(Path(file).parent))
    return unittest.TestSuite(case for case in _cases(found) if _is_taken(case, test_filter))


def _cases(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from _cases(item)
        else:
            yield item


def _is_taken(case: unittest.TestCase, test_filter: TestFilter) -> bool:
    if type(case).__name__ == "_FailedTest":
        return True
    method = getattr(case, case._testMethodName)
    flow = getattr(method, "_flow", None)
    if not isinstance(flow, TestFlow):
        raise RuntimeError(f"{case.id()} has no flow: a test of a suite gets it from the decorators")
    wanted = ((test_filter.backends, flow.backend), (test_filter.flows, flow.name))
    if any(names is not None and name not in names for names, name in wanted):
        return False
    return test_filter.name_regex is None or test_filter.name_regex.search(case.id()) is not None
