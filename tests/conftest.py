"""The option `--native`, and fixtures that all tests share."""

from __future__ import annotations

import functools
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from tests import native
from tests.programs import CASES


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--native", metavar="FILE", help="an extension module to test instead of the installed one"
    )


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--native")
    if path is not None:
        native.use(path)


@functools.cache
def exported(name: str) -> Any:
    return CASES[name].export()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with the argument `case_name` runs for every program."""
    if "case_name" in metafunc.fixturenames:
        metafunc.parametrize("case_name", list(CASES))


@pytest.fixture
def case(case_name: str) -> Any:
    return CASES[case_name]


@pytest.fixture
def program(case_name: str) -> Any:
    """Returns the exported program of a case. A session exports it once; tests must not change it."""
    return exported(case_name)


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Installs Python's handler of SIGINT.

    A process that a shell starts in the background does not have it.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def export_case() -> Any:
    """export_case(name) returns the exported program of a case. A session exports it once."""
    return exported
