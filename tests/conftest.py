from __future__ import annotations

import functools
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--native", metavar="FILE", help="the extension module to test, instead of the installed one"
    )


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--native")
    if path is None:
        return
    name = "rushlight.runtime._native"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.path.insert(0, str(ROOT / "src"))
    sys.modules[name] = module


@functools.cache
def programs() -> ModuleType:
    """tests/programs.py: small programs, each with what is special about it."""
    name = "rushlight_test_programs"
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name("programs.py"))
    assert spec is not None and spec.loader is not None
    # Dynamo imports the modules that it traces.
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@functools.cache
def exported(name: str) -> Any:
    return programs().CASES[name].export()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes `case_name` runs over every program."""
    if "case_name" in metafunc.fixturenames:
        metafunc.parametrize("case_name", list(programs().CASES))


@pytest.fixture
def case(case_name: str) -> Any:
    return programs().CASES[case_name]


@pytest.fixture
def program(case_name: str) -> Any:
    """The exported program of a case, made once a session; tests must not change it."""
    return exported(case_name)


@pytest.fixture(scope="session")
def export_case() -> Any:
    """export_case(name) -> the exported program of a case, made once a session."""
    return exported
