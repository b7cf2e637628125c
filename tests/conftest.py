from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

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
