"""The Python of these pages runs from top to bottom as it stands; what it prints, the page shows."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize("page", ["programs.md", "xnnpack.md"])
def test_code_runs(page: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    text = (DOCS / page).read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks
    module = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)  # where torch looks for a function's globals
    for block in blocks:
        exec(compile(block, page, "exec"), vars(module))
    printed = capsys.readouterr().out.strip()
    assert printed and printed in text
