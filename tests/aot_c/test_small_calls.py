"""The C code in the docstring of each generator file is what the generator writes."""

from __future__ import annotations

import ast

import pytest
from tests.aot_c.small_calls import EXAMPLES, FOLDER, WITHOUT, with_example


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_docstring_has_the_generated_code(name: str) -> None:
    source = (FOLDER / f"{name}.py").read_text()
    docstring = ast.get_docstring(ast.parse(source), clean=False)
    assert docstring is not None and docstring.endswith(EXAMPLES[name].docstring())
    assert with_example(source, EXAMPLES[name]) == source, "run `python -m tests.aot_c.small_calls`"


def test_each_file_that_generates_code_has_an_example() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} - WITHOUT == set(EXAMPLES)
