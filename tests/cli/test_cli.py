"""The `rushlight` command."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import rushlight
from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.cli.main import main
from rushlight.delegate.partitioner import Partitioner
from rushlight.exir import to_edge_transform_and_lower
from rushlight.format.pte import read_pte
from rushlight.passes.move_constants_to_files import delegate_external_constants_pass_unlifted
from rushlight.runtime import _native

Capture = pytest.CaptureFixture[str]


def test_run_on_ones(program: Path, capsys: Capture) -> None:
    assert main(["run", str(program)]) == 0
    assert capsys.readouterr().out == "output 0: float32[2] [11., 21.]\n"


def test_run_on_files_and_save(program: Path, tmp_path: Path, capsys: Capture) -> None:
    np.save(tmp_path / "x.npy", np.array([1, 2], np.float32))
    out = tmp_path / "results" / "deep"
    assert main(["run", str(program), "--inputs", str(tmp_path / "x.npy"), "--outputs", str(out)]) == 0
    assert "[11., 22.]" in capsys.readouterr().out
    np.testing.assert_array_equal(np.load(out / "output_0.npy"), np.array([11, 22], np.float32))


def test_outputs_are_saved_though_nobody_reads_what_is_printed(program: Path, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "rushlight.cli.main", "run", str(program), "--outputs", str(tmp_path)]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=True)
    os.close(writer)
    assert done.stderr == b""
    np.testing.assert_array_equal(np.load(tmp_path / "output_0.npy"), np.array([11, 21], np.float32))


def test_run_on_torchs_kernels(program: Path, tmp_path: Path, capsys: Capture) -> None:
    assert main(["run", str(program), "--aten", "--outputs", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "output 0: float32[2] [11., 21.]\n"
    np.testing.assert_array_equal(np.load(tmp_path / "output_0.npy"), np.array([11, 21], np.float32))


WITHOUT_TORCH = """
import json, sys
sys.modules["torch"] = None
from rushlight.cli.main import main
codes = []
for arguments in json.load(sys.stdin):
    try:
        codes.append(main(arguments))
    except SystemExit as end:
        codes.append(end.code or 0)
print(json.dumps(codes), file=sys.stderr)
"""


def test_commands_without_torch(program: Path, tmp_path: Path) -> None:
    """Only commands that compile or compare with the model import torch."""

    def codes(commands: list[list[str]]) -> tuple[list[int], str]:
        done = subprocess.run(
            [sys.executable, "-c", WITHOUT_TORCH],
            input=json.dumps(commands),
            capture_output=True,
            text=True,
            check=True,
        )
        return json.loads(done.stderr.splitlines()[-1]), done.stdout + done.stderr

    name = str(program)
    commands = [
        ["--help"],
        ["info", name],
        ["run", name],
        ["inspect", name, "--html", str(tmp_path / "page.html")],
        ["size", name],
        ["bench", name, "--seconds", "0.01"],
        ["diff", name, name],
        ["completion", "bash"],
        ["aot-c", name, "-o", str(tmp_path / "c")],
        ["select", name, "-o", str(tmp_path / "project")],
        ["compare", name, "--module", "model.py:make"],
    ]
    found, printed = codes(commands)
    assert [command[0] for command, code in zip(commands, found, strict=True) if code] == ["compare"], printed
    assert found[-1] == 1 and "pip install 'rushlight[compile]'" in printed


def test_steps_beside_the_native_kernels(program: Path, capsys: Capture) -> None:
    assert main(["run", str(program), "--aten", "--steps"]) == 0
    *_, step, output = capsys.readouterr().out.splitlines()
    assert step.split() == ["0.0", "aten::add.out", "float32[2]", "0"]
    assert output == "output 0: float32[2] [11., 21.]"


@pytest.mark.parametrize(
    "command", ["run", "info", "inspect", "size", "profile", "profile --by step", "bench"]
)
def test_bundled_programs_are_refused(tmp_path: Path, capsys: Capture, command: str) -> None:
    path = tmp_path / "add.bpte"
    shutil.copy(Path(__file__).parents[1] / "golden" / "devtools" / "add.bpte", path)
    assert main([*command.split(), str(path)]) == 1
    assert f"`executor_runner --bundled_program_path {path}`" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["inspect", "size"])
def test_a_folder_is_not_a_program(capsys: Capture, command: str) -> None:
    assert main([command, "."]) == 1
    assert capsys.readouterr().err == "rushlight: Is a directory: '.'\n"


@pytest.mark.parametrize(("method", "value"), [("version", "3"), ("label", "'digits'")])
def test_run_a_method(program: Path, capsys: Capture, method: str, value: str) -> None:
    assert main(["run", str(program), "--method", method, "--threads", "1"]) == 0
    assert capsys.readouterr().out == f"output 0: {value}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "absent.pte"], "absent.pte"),
        (["info", "absent.pte"], "absent.pte"),
        (["run", "PROGRAM", "--method", "encode"], "no method 'encode'; it has forward, version, label"),
        (
            ["run", "PROGRAM", "--inputs", "nothing"],
            "'nothing' is neither a .npy, .npz, .png or .jpg file nor",
        ),
        (["run", "PROGRAM", "--inputs", "PROGRAM"], "is not a .npy or .npz file of numbers"),
        (["run", "PROGRAM", "--inputs", "1.5"], "input 0 takes float32[2], not float"),
        (["run", "PROGRAM", "--inputs", "1", "2"], "takes 1 input, but 2 are given"),
        (["run", "PROGRAM", "--data", "absent.ptd"], "absent.ptd"),
        (["run", "PROGRAM", "--steps"], "--steps needs --aten"),
        (["run", "PROGRAM", "--aten", "--inputs", "1", "2"], "takes 1 input, but 2 are given"),
        (["compile", "model.py"], "'model.py' is not of the form FILE.py:FACTORY"),
        (["compile", "absent.py:make"], "the file absent.py does not exist"),
        (["compile", "json:dumps"], "dumps() failed: TypeError"),
    ],
)
def test_errors_are_one_line(program: Path, capsys: Capture, arguments: list[str], message: str) -> None:
    assert main([str(program) if a == "PROGRAM" else a for a in arguments]) == 1
    error = capsys.readouterr().err
    assert error.startswith("rushlight: ") and message in error and error.count("\n") == 1


def test_damaged_file(tmp_path: Path, program: Path, capsys: Capture) -> None:
    damaged = tmp_path / "damaged.pte"
    damaged.write_bytes(program.read_bytes()[:200])
    for command in ("run", "info", "bench"):
        assert main([command, str(damaged)]) == 1
        assert "rushlight: " in capsys.readouterr().err


def test_info(program: Path, capsys: Capture) -> None:
    assert main(["info", str(program)]) == 0
    text = capsys.readouterr().out
    assert "8 bytes of constants" in text
    assert "method forward: 1 instruction\n  input 0: float32[2]\n  output 0: float32[2]\n" in text
    assert re.search(r"1 x aten::add.out\n", text)
    assert "method version: 0 instructions\n  output 0: Int\n" in text


def test_info_as_json(program: Path, capsys: Capture) -> None:
    assert main(["info", str(program), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["bytes"] == program.stat().st_size
    forward = facts["methods"][0]
    assert (forward["operators"], forward["delegates"]) == ({"aten::add.out": 1}, {})
    assert forward["inputs"] == forward["outputs"] == ["float32[2]"]


def test_info_of_plans(tmp_path: Path, capsys: Capture) -> None:
    model = torch.nn.Sequential(*(torch.nn.Linear(8, 8) for _ in range(3)), torch.nn.Softmax(-1)).eval()
    path = tmp_path / "planned.pte"
    rushlight.compile(model, (torch.ones(2, 8),), partitioner=[CpuPartitioner("avx2")]).save(path)
    assert main(["info", str(path)]) == 0
    text = capsys.readouterr().out
    assert re.search(r"named data: \d entries, .* \(--json lists them\)", text)
    assert "1 x CpuBackend\n          planned for avx2: 3 GEMM, 1 softmax\n" in text
    assert main(["info", str(path), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["methods"][0]["plans"][0]["steps"] == {"GEMM": 3, "softmax": 1}
    assert len(facts["named_data"]) > 3


@pytest.mark.parametrize("partitioner", [CpuPartitioner, XnnpackPartitioner])
def test_info_of_delegates_with_weights_in_a_data_file(
    partitioner: type[Partitioner], tmp_path: Path, capsys: Capture
) -> None:
    inputs = (torch.ones(2, 8),)
    captured = torch.export.export(torch.nn.Linear(8, 8).eval(), inputs).module()
    delegate_external_constants_pass_unlifted(captured, lambda node: "weights")
    edge = to_edge_transform_and_lower(torch.export.export(captured, inputs), partitioner=[partitioner()])
    path = tmp_path / "model.pte"
    edge.to_executorch().save(path)
    assert main(["info", str(path), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert len(facts["methods"][0]["external_data"]) == 2
    assert facts["named_data"] == {}


def test_bench(program: Path, capsys: Capture) -> None:
    assert main(["bench", str(program), "--seconds", "0", "--warmup", "0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["load", "first", "run", "memory"]


def test_bench_as_json(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "net.pte"
    rushlight.compile(torch.nn.Linear(32, 64), (torch.ones(4, 32),)).save(path)
    options = ["--seconds", "0", "--warmup", "0", "--threads", "1", "--roofline", "--json"]
    assert main(["bench", str(path), *options]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["run_seconds"]["runs"] == 1
    assert facts["memory_bytes"].keys() == {"planned", "structures", "scratch"}
    steps = [row for row in facts["roofline"]["rows"] if row["is_step"]]
    assert steps[0]["shape"][-2:] == [4, 64] and steps[0]["operations"] == 2 * 4 * 32 * 64


def test_the_roofline_uses_the_threads_of_the_runtime(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """The runtime respects limits of CPUs that `os.cpu_count` does not know."""
    threads = _native.get_thread_count()
    monkeypatch.setattr(os, "cpu_count", lambda: threads + 1)
    monkeypatch.delenv("RUSHLIGHT_NUM_THREADS", raising=False)
    assert main(["bench", str(program), "--seconds", "0", "--warmup", "0", "--roofline", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["roofline"]["threads"] == threads


def test_run_as_json(program: Path, tmp_path: Path, capsys: Capture) -> None:
    np.save(tmp_path / "x.npy", np.array([1, np.nan], np.float32))
    assert main(["run", str(program), "--json", "--inputs", str(tmp_path / "x.npy")]) == 0
    output = {"dtype": "float32", "shape": [2], "values": [11.0, "nan"]}
    assert json.loads(capsys.readouterr().out) == {"outputs": [output]}
    assert main(["run", str(program), "--json", "--method", "label"]) == 0
    assert json.loads(capsys.readouterr().out) == {"outputs": ["digits"]}


def test_run_on_arrays_of_one_file(tmp_path: Path, capsys: Capture) -> None:
    class Sub(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return x - y

    rushlight.compile(Sub(), (torch.ones(2), torch.zeros(2))).save(tmp_path / "sub.pte")
    np.savez(tmp_path / "xy.npz", x=np.array([5, 7], np.float32), y=np.array([1, 2], np.float32))
    assert main(["run", str(tmp_path / "sub.pte"), "--inputs", str(tmp_path / "xy.npz")]) == 0
    assert capsys.readouterr().out == "output 0: float32[2] [4., 5.]\n"


@pytest.fixture
def picture_program(tmp_path: Path) -> Path:
    path = tmp_path / "image.pte"
    rushlight.compile(torch.nn.Flatten(), (torch.ones(1, 3, 2, 4),)).save(path)
    return path


class Power(torch.nn.Module):
    def forward(self, x: torch.Tensor, scale: torch.Tensor, flag: torch.Tensor) -> torch.Tensor:
        return torch.where(flag, x * scale, x)


@pytest.mark.parametrize(
    ("inputs", "shown"),
    [
        (["7", "3", "true"], "int64[] 21"),
        (["7", "3", "false"], "int64[] 7"),
        (["7.5", "3", "true"], "input 0 takes int64[], not float"),
        (["7", "3", "1"], "input 2 takes bool[], not int"),
        (["100000000000000000000", "3", "true"], "input 0 takes int64[], not int"),
    ],
)
def test_numbers_become_tensors_without_dimensions(
    tmp_path: Path, capsys: Capture, inputs: list[str], shown: str
) -> None:
    example = (torch.tensor(1), torch.tensor(2), torch.tensor(True))
    rushlight.compile(Power(), example).save(tmp_path / "power.pte")
    code = main(["run", str(tmp_path / "power.pte"), "--inputs", *inputs])
    printed = capsys.readouterr()
    assert (code == 0) == shown.startswith("int64") and shown in printed.out + printed.err


@pytest.mark.parametrize(("size", "suffix"), [((4, 2), "png"), ((8, 4), "PNG"), ((8, 8), "jpg")])
def test_run_on_pictures(
    picture_program: Path, tmp_path: Path, capsys: Capture, size: tuple[int, int], suffix: str
) -> None:
    image = pytest.importorskip("PIL.Image")
    path = tmp_path / f"red.{suffix}"
    image.new("RGB", size, (255, 0, 0)).save(path)
    assert main(["run", str(picture_program), "--json", "--inputs", str(path)]) == 0
    ((values,),) = (o["values"] for o in json.loads(capsys.readouterr().out)["outputs"])
    np.testing.assert_allclose(values, [1.0] * 8 + [0.0] * 16, atol=0.01)


def test_wrong_pictures(program: Path, tmp_path: Path, capsys: Capture) -> None:
    image = pytest.importorskip("PIL.Image")
    image.new("L", (2, 2)).save(tmp_path / "grey.png")
    for name, message in (
        (
            "grey.png",
            "is given for input 0 of method 'forward', which has the shape [2]: an image needs",
        ),
        ("absent.png", "which has the shape [2]"),
    ):
        assert main(["run", str(program), "--inputs", str(tmp_path / name)]) == 1
        assert message in capsys.readouterr().err


def test_a_damaged_picture(picture_program: Path, tmp_path: Path, capsys: Capture) -> None:
    pytest.importorskip("PIL")
    (tmp_path / "text.png").write_text("text")
    assert main(["run", str(picture_program), "--inputs", str(tmp_path / "text.png")]) == 1
    assert "cannot identify image file" in capsys.readouterr().err


def test_pictures_without_pillow(
    picture_program: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert main(["run", str(picture_program), "--inputs", "cat.jpg"]) == 1
    assert "'cat.jpg': images need Pillow: pip install pillow" in capsys.readouterr().err


def test_kernels(capsys: Capture) -> None:
    assert main(["kernels", "--library", "portable"]) == 0
    rows = dict(line.partition(" ")[::2] for line in capsys.readouterr().out.splitlines())
    assert {"float32", "int64"} <= set(rows["aten::add.out"].split(","))


def test_compile(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "doubler.py").write_text(
        "import torch\n\n"
        "class Double(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        "        return x + x\n\n"
        "def make():\n"
        "    return Double(), (torch.ones(3),)\n\n"
        "def exported():\n"
        "    return torch.export.export(*make())\n\n"
        "def one():\n"
        "    return Double(), torch.ones(3)\n\n"
        "def wrong():\n"
        "    return Double()\n"
    )
    output = tmp_path / "double.pte"
    assert main(["compile", f"{tmp_path}/doubler.py:make", "-o", str(output)]) == 0
    assert str(output) in capsys.readouterr().out
    result = rushlight.load(output)(np.array([1, 2, 3], np.float32))
    assert result.tolist() == [2, 4, 6]
    for name in ("exported", "one"):
        assert main(["compile", f"{tmp_path}/doubler.py:{name}", "-o", str(output)]) == 0
        assert rushlight.load(output)(np.array([1, 2, 4], np.float32)).tolist() == [2, 4, 8]
    assert main(["compile", f"{tmp_path}/doubler.py:wrong", "-o", str(tmp_path / "no.pte")]) == 1
    assert "wrong() must return the model and a tuple" in capsys.readouterr().err
    assert main(["compile", f"{tmp_path}/doubler.py:absent", "-o", str(tmp_path / "no.pte")]) == 1
    assert not (tmp_path / "no.pte").exists()


@pytest.mark.parametrize("command", ["compile", "quantize"])
@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("net.bin", "net.bin: the name of a program must end with .pte"),
        ("absent/net.pte", "absent/net.pte: the folder absent does not exist; create it first"),
        ("folder.pte", "folder.pte: this is a folder; give the name of a file"),
    ],
)
def test_a_bad_output_is_refused_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, command: str, output: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.pte").mkdir()
    assert main([command, "absent.py:make", "-o", output]) == 1
    assert capsys.readouterr().err == f"rushlight: --output {message}\n"


def test_compile_for_a_backend(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "net.py").write_text(
        "import torch\n\n"
        "class Net(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.conv = torch.nn.Conv2d(64, 64, 3, padding=1)\n\n"
        "    def forward(self, x):\n"
        "        return torch.asinh(self.conv(x))\n\n"
        "def make():\n"
        "    return Net(), (torch.ones(1, 64, 24, 24),)\n"
    )

    def compiled(*options: str) -> tuple[str, int, set[str]]:
        output = tmp_path / "net.pte"
        assert main(["compile", f"{tmp_path}/net.py:make", "-o", str(output), *options]) == 0
        printed = capsys.readouterr().out
        (plan,) = read_pte(output.read_bytes()).program.execution_plan
        return printed, output.stat().st_size, {delegate.id for delegate in plan.delegates}

    printed, whole, backends = compiled("--target", "avx2", "--explain")
    assert backends == {"CpuBackend"}
    assert "aten.asinh.default" in printed and "net.py:9" in printed and "aten.conv" not in printed
    _, compact, _ = compiled("--target", "avx2", "--compact")
    assert compact < whole
    high = ("--float32-matmul-precision", "high")
    assert compiled("--target", "avx2", *high)[1] != whole
    assert compiled("--target", "avx2", "--float32-matmul-precision", "highest")[1] == whole
    assert compiled("--target", "avx2", "--weights", "float16")[1] < 0.6 * compact
    assert compiled("--backend", "xnnpack")[2] == {"XnnpackBackend"}
    if importlib.util.find_spec("openvino"):
        assert compiled("--backend", "openvino")[2] == {"OpenvinoBackend"}
    printed, _, backends = compiled("--backend", "none", "--explain")
    assert not backends and "all operators run on kernels" in printed
    assert main(["compile", f"{tmp_path}/net.py:make", "--backend", "none", "--target", "neon"]) == 1
    assert "--target: this is an option of --backend cpu, not of --backend none" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["compile", f"{tmp_path}/net.py:make", "--float32-matmul-precision", "medium"])
    error = capsys.readouterr().err
    assert "'medium'" in error and "highest" in error and "high" in error.replace("highest", "")


def test_usage(capsys: Capture) -> None:
    for arguments in ([], ["fly"], ["run"]):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 2
        error = capsys.readouterr().err
        assert "rushlight" in error and len(error.splitlines()) == 2
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"rushlight {rushlight.__version__}\n"
