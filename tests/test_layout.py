"""Every pass and every memory planner has a test file with its name, and names of passes follow one rule."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "rushlight"

# Modules of passes/ without a pass, and the reason why they have no test file.
HELPERS = {
    "quantized_rewriter": "shared code of the fusions of quantized operators; their tests cover it",
}


def passes() -> list[str]:
    found = sorted(path.stem for path in (PACKAGE / "passes").glob("*.py") if path.stem != "__init__")
    return [name for name in found if name not in HELPERS]


BASES = {"Pass", "GraphPass", "ModulePass", "ProgramPass", "ExportPass"}


def pass_classes(path: Path) -> list[str]:
    """Returns the passes that a module defines, without base classes."""
    return [
        node.name
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef)
        and node.name not in BASES
        and BASES.intersection(ast.unparse(base) for base in node.bases)
    ]


def snake_case(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def test_the_names_of_passes() -> None:
    """The name of a pass is `<Verb><Object>Pass`. A module with one pass has the same name without `Pass`.

    Classes of `testing` that build graphs with an ExportPass have ExecuTorch's names.
    """
    found = 0
    for path in sorted(set(PACKAGE.rglob("*.py")) - set((PACKAGE / "testing").rglob("*.py"))):
        names = pass_classes(path)
        found += len(names)
        assert all(name.endswith("Pass") for name in names), f"{path}: {names}"
        if path.parent.name == "passes" and len(names) == 1:
            assert path.stem == snake_case(names[0].removesuffix("Pass")), f"{path} has {names[0]}"
    assert found > 30


def _gives_a_plan(node: ast.stmt) -> bool:
    """Whether a statement defines a planner: a public function that returns a plan, or a planning pass."""
    if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
        return node.returns is not None and ast.unparse(node.returns) in ("Plan", "MemoryAlgoResult")
    return isinstance(node, ast.ClassDef) and any("Pass" in ast.unparse(base) for base in node.bases)


def planners() -> list[str]:
    paths = sorted((PACKAGE / "memory").glob("*.py"))
    return [path.stem for path in paths if any(map(_gives_a_plan, ast.parse(path.read_text()).body))]


def imported(path: Path) -> set[str]:
    """Returns the modules that a test file imports at its top."""
    tree = ast.parse(path.read_text())
    return {node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)}


@pytest.mark.parametrize(
    "package, name", [("passes", n) for n in passes()] + [("memory", n) for n in planners()]
)
def test_there_is_a_test_file_that_imports_the_module(package: str, name: str) -> None:
    path = ROOT / "tests" / package / f"test_{name}.py"
    where = path.relative_to(ROOT)
    assert path.exists(), (
        f"rushlight.{package}.{name} has no test file; add {where} with a graph before and after it"
    )
    assert f"rushlight.{package}.{name}" in imported(path), (
        f"{where} does not import rushlight.{package}.{name}"
    )


def test_the_helpers_exist() -> None:
    assert len(HELPERS) <= 3
    assert all((PACKAGE / "passes" / f"{name}.py").exists() for name in HELPERS)


def test_planners_are_found() -> None:
    assert {"naive", "first_fit", "slots", "portfolio", "algorithms", "planning_pass"} <= set(planners())
