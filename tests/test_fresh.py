"""`tests/fresh.py` runs scripts as in a new process, except that torch is already imported."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from tests.fresh import run_python

STATE = """
import os, sys
print("torch" in sys.modules, any(name.partition(".")[0] in ("rushlight", "tests") for name in sys.modules))
print(__name__, sys.modules["__main__"].__dict__ is globals())
print(sys.argv[1:], os.getcwd(), os.environ.get("FRESH_TEST"))
"""


def test_a_script_sees_torch_and_nothing_of_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRESH_TEST", "value")
    done = run_python(STATE, "a", "b c", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"True False\n__main__ True\n['a', 'b c'] {tmp_path} value\n"
    monkeypatch.delenv("FRESH_TEST")
    assert run_python(STATE, cwd=tmp_path).stdout.endswith(f"[] {tmp_path} None\n")


def test_modules_come_from_the_scripts_folder_and_from_pythonpath(tmp_path: Path) -> None:
    beside, path = tmp_path / "beside", tmp_path / "path"
    for folder in (beside, path):
        folder.mkdir()
        (folder / f"found_{folder.name}.py").write_text(f"print({folder.name!r})")
    script = beside / "script.py"
    script.write_text("import found_beside, found_path\nprint(__file__)")
    environment = os.environ | {"PYTHONPATH": str(path)}
    done = run_python(script, cwd=tmp_path, environment=environment)
    assert done.stdout == f"beside\npath\n{script}\n", done.stderr
    done = run_python("import found_beside", cwd=beside)
    assert done.stdout == "beside\n", done.stderr
    done = run_python("import found_path", cwd=beside)
    assert done.returncode == 1 and "No module named 'found_path'" in done.stderr


@pytest.mark.parametrize(
    ("code", "status", "message"),
    [
        ("import sys; print('text', file=sys.stderr); sys.exit(7)", 7, "text\n"),
        ("raise SystemExit('a reason')", 1, "a reason\n"),
        (f"import os; os.kill(os.getpid(), {int(signal.SIGKILL)})", -signal.SIGKILL, ""),
        ("import atexit, sys; atexit.register(lambda: print('last', file=sys.stderr))", 0, "last\n"),
    ],
)
def test_how_a_script_ends(code: str, status: int, message: str, tmp_path: Path) -> None:
    done = run_python(code, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (status, message)


def test_an_error_names_the_line_of_the_file(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("\n\nraise ValueError('wrong')\n")
    done = run_python(script, cwd=tmp_path)
    assert done.returncode == 1
    assert f'File "{script}", line 3' in done.stderr and done.stderr.endswith("ValueError: wrong\n")
