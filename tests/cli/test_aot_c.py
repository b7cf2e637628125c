"""`rushlight aot-c`: the files, the check, errors."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import rushlight
from models import selective
from rushlight.cli.main import main
from rushlight.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from rushlight.devtools.bundled_program.core import BundledProgram
from rushlight.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "twice.pte"
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Softmax(-1)).eval()
    path.write_bytes(rushlight.compile(module, (torch.zeros(1, 3),), partitioner=()).buffer)
    return path


def bundle(program: Path, expected: torch.Tensor | None) -> Path:
    """Writes a bundled program with one test case."""
    case = MethodTestCase([torch.ones(1, 3)], None if expected is None else [expected])
    bundled = BundledProgram(None, [MethodTestSuite("forward", [case])], pte_file_path=str(program))
    path = program.with_suffix(".bpte")
    path.write_bytes(serialize_from_bundled_program_to_flatbuffer(bundled))
    return path


def result_of(program: Path) -> torch.Tensor:
    method = rushlight.load(program)
    return torch.as_tensor(method(torch.ones(1, 3)))


def build_and_run(folder: Path) -> tuple[int, str]:
    """Builds the project with CMake and runs its check."""
    tools = Path(sys.executable).parent
    cmake = tools / "cmake" if (tools / "cmake").exists() else Path("cmake")
    for words in (["-S", folder, "-B", folder / "build"], ["--build", folder / "build"]):
        done = subprocess.run([str(word) for word in (cmake, *words)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    done = subprocess.run([str(folder / "build" / "check")], capture_output=True, text=True)
    return done.returncode, done.stdout


def test_files(program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "c"
    assert main(["aot-c", str(program), "--out", str(folder)]) == 0
    assert sorted(path.name for path in folder.iterdir()) == ["CMakeLists.txt", "twice.c", "twice.h"]
    assert "int twice_forward(const float *in, float *out);" in (folder / "twice.h").read_text()
    assert "2 operators, 32 bytes of constants" in capsys.readouterr().out


def test_json(program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["aot-c", str(program), "--out", str(tmp_path / "c"), "--name", "net", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["functions"] == {"forward": "net_forward"}
    assert facts["operators"] == ["aten::_softmax.out", "aten::addmm.out"]


def test_check_prints_ok(program: Path, tmp_path: Path) -> None:
    path = bundle(program, result_of(program))
    assert main(["aot-c", str(path), "--out", str(tmp_path / "c"), "--check"]) == 0
    code, text = build_and_run(tmp_path / "c")
    assert code == 0 and text.endswith("OK\n")
    assert selective.outputs(text) == [selective.bits_of(result_of(program))]


def test_check_finds_a_wrong_result(program: Path, tmp_path: Path) -> None:
    path = bundle(program, result_of(program) + 0.01)
    assert main(["aot-c", str(path), "--out", str(tmp_path / "c"), "--check"]) == 0
    code, text = build_and_run(tmp_path / "c")
    assert code == 1 and "FAILED" in text


def test_complex_inputs_and_results_have_two_parts(tmp_path: Path) -> None:
    class Twice(torch.nn.Module):
        def forward(self, z: torch.Tensor) -> torch.Tensor:
            return z * z

    waves = torch.randn(3, dtype=torch.complex64)
    path = tmp_path / "waves.pte"
    path.write_bytes(rushlight.compile(Twice().eval(), (waves,), partitioner=()).buffer)
    case = MethodTestCase([waves], [waves * waves])
    bundled = BundledProgram(None, [MethodTestSuite("forward", [case])], pte_file_path=str(path))
    path = path.with_suffix(".bpte")
    path.write_bytes(serialize_from_bundled_program_to_flatbuffer(bundled))
    assert main(["aot-c", str(path), "--out", str(tmp_path / "c"), "--check"]) == 0
    header = (tmp_path / "c" / "waves.h").read_text()
    assert "int waves_forward(const float *in, float *out);" in header
    assert "#define WAVES_FORWARD_OUT_SIZE 6" in header
    code, text = build_and_run(tmp_path / "c")
    assert code == 0 and text.endswith("OK\n")


def test_the_header_serves_cpp(program: Path, tmp_path: Path) -> None:
    folder = tmp_path / "c"
    assert main(["aot-c", str(program), "--out", str(folder)]) == 0
    (folder / "main.cpp").write_text(
        '#include "twice.h"\nint main() { float in[3] = {}, out[2]; return twice_forward(in, out); }\n'
    )
    for words in (
        ["gcc", "-std=c99", "-c", "twice.c"],
        ["g++", "main.cpp", "twice.o", "-lm", "-o", "main"],
        [str(folder / "main")],
    ):
        subprocess.run(words, cwd=folder, check=True)


@pytest.mark.parametrize(
    "options,said",
    [
        (["--check"], "needs test cases"),
        (["--name", "1st"], "not a valid C identifier"),
    ],
)
def test_wrong_use(
    options: list[str], said: str, program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["aot-c", str(program), "--out", str(tmp_path / "c"), *options]) == 1
    assert said in capsys.readouterr().err
    assert not (tmp_path / "c").exists()


def test_damaged_files_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "damaged.pte"
    path.write_bytes(b"\0\0\0\0ET12" + b"\xff" * 64)
    assert main(["aot-c", str(path), "--out", str(tmp_path / "c")]) == 1
    assert f"rushlight: {path}: " in capsys.readouterr().err
    assert not (tmp_path / "c").exists()
