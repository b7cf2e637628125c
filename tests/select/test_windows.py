"""Builds for Windows, which run in Wine: `make windows`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from models import selective

pytestmark = pytest.mark.skipif(
    not os.environ.get("RUSHLIGHT_WINDOWS"), reason="`make windows` runs it: its builds take minutes"
)
FORMS = ("float32", "int8")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a project with the digits network in float32 and int8, portable kernels, three test cases."""
    folder = tmp_path_factory.mktemp("windows")
    images = selective.digits_images(3).split(1)
    programs = [
        selective.with_cases(selective.digits_program(form), images, folder, f"digits_{form}")
        for form in FORMS
    ]
    return selective.select(programs, folder / "project", "--portable", "--embed")


@pytest.fixture(scope="module")
def built(project: Path) -> Path:
    """Returns the folder of the build for Windows."""
    options = [f"-DRUSHLIGHT_ZIG={os.environ['RUSHLIGHT_ZIG']}", "-DRUSHLIGHT_BUILD_SHARED=ON"]
    for target in ("runner", "executor_runner", "rushlight_shared"):
        folder = selective.build(project, target, selective.WINDOWS, options)
    return folder


def test_results_are_those_of_the_host(project: Path, built: Path) -> None:
    code, expected = selective.run(selective.build(project, "runner"))
    assert code == 0, expected
    code, text = selective.run(built, selective.WINDOWS)
    assert code == 0, text
    assert selective.outputs(text) == selective.outputs(expected)


@pytest.mark.parametrize("form", FORMS)
def test_files_and_threads(project: Path, built: Path, form: str, tmp_path: Path) -> None:
    """executor_runner maps a file, and reports a missing file."""
    program = tmp_path / "digits.pte"
    program.write_bytes(selective.digits_program(form))
    runner = next(built.rglob("executor_runner.exe"))
    host = next(selective.build(project, "executor_runner").rglob("executor_runner"))

    def run(*command: object) -> tuple[int, str]:
        environment_of_wine = {**os.environ, "WINEDEBUG": "-all"}
        done = subprocess.run(
            [str(word) for word in command],
            capture_output=True,
            text=True,
            env=environment_of_wine,
            cwd=tmp_path,
        )
        return done.returncode, done.stdout + done.stderr

    options = (f"--model_path={program.name}", "--print_output=all", "--num_threads=2")
    code, text = run("wine", runner, *options)
    assert code == 0, text
    lines = [line for line in run(host, *options)[1].splitlines() if line.startswith("output ")]
    assert lines and all(line in text.splitlines() for line in lines)
    code, text = run("wine", runner, "--model_path=none.pte")
    assert code != 0 and "none.pte" in text and "No such file" in text
