"""The Java package on OpenJDK with -Xcheck:jni: results are equal to Python, and its tests pass."""

from __future__ import annotations

import os
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from torch import nn

import rushlight
from models import selective

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "build/java"
JAVA = ROOT / "java"
TESTS = ("TensorTest", "ModuleTest", "ProgramsTest")
# A heap with a fixed size shows memory leaks. Leaked buffers cause an error.
LIMITS = ("-Xms96m", "-Xmx96m", "-XX:+AlwaysPreTouch", "-XX:MaxDirectMemorySize=16m")

NAMES = {
    torch.uint8: "UINT8",
    torch.int8: "INT8",
    torch.int16: "INT16",
    torch.int32: "INT32",
    torch.int64: "INT64",
    torch.float16: "HALF",
    torch.float32: "FLOAT",
    torch.float64: "DOUBLE",
    torch.bool: "BOOL",
    torch.bfloat16: "BFLOAT16",
    torch.uint16: "UINT16",
    torch.uint32: "UINT32",
}


class Scale(nn.Module):
    def forward(self, x: torch.Tensor, k: int) -> tuple[torch.Tensor, int]:
        return x * 2, k


class Plus(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1


class Turned(nn.Module):
    """Its output is transposed, so that its copy has another order."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.transpose(0, 1).clone(memory_format=torch.contiguous_format)


class Last(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.to(memory_format=torch.channels_last) * 2


class Several(nn.Module):
    def forward(self, x: torch.Tensor, k: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, int]:
        return (x * 2).softmax(-1), k.cumsum(0), x.shape[0]


def line(kind: str, value: object, folder: Path, file: str) -> str:
    """Returns a line of case.txt. The elements of a tensor are written to a file."""
    if isinstance(value, torch.Tensor):
        (folder / file).write_bytes(bytes(value.contiguous().flatten().view(torch.uint8).numpy()))
        return f"{kind} tensor {NAMES[value.dtype]} {','.join(map(str, value.shape)) or '-'} {file}"
    assert isinstance(value, int)
    return f"{kind} int {value}"


def write_case(folder: Path, program: bytes, inputs: Sequence[object]) -> None:
    """Writes a program, its inputs, and the outputs of the Python package."""
    folder.mkdir()
    (folder / "program.pte").write_bytes(program)
    result = rushlight.load(program)(*inputs)
    outputs = result if isinstance(result, (tuple, list)) else [result]
    lines = [line("input", value, folder, f"input{i}.bin") for i, value in enumerate(inputs)]
    lines += [line("output", value, folder, f"output{i}.bin") for i, value in enumerate(outputs)]
    (folder / "case.txt").write_text("\n".join(lines) + "\n")


def compiled(model: nn.Module, inputs: tuple[object, ...]) -> bytes:
    return bytes(rushlight.compile(model, inputs, partitioner=()).buffer)


def elements(dtype: torch.dtype) -> torch.Tensor:
    numbers = torch.arange(12).reshape(3, 4)
    return numbers % 3 == 0 if dtype == torch.bool else numbers.to(dtype)


def write_cases(root: Path) -> None:
    for form in ("float32", "int8"):
        for plans in (False, True):
            program = selective.digits_program(form, plans=plans)
            write_case(root / f"digits_{form}_{plans}", program, [selective.digits_images(1)])
    for dtype, name in NAMES.items():
        x = elements(dtype)
        write_case(root / f"turned_{name}", compiled(Turned(), (x,)), [x])
    image = torch.randn(1, 3, 6, 5)
    write_case(root / "channels_last", compiled(Last(), (image,)), [image])
    x, k = torch.randn(4, 3), torch.tensor([1, 2, 3])
    rows = {0: torch.export.Dim("rows", min=2, max=9)}
    several = rushlight.compile(torch.export.export(Several(), (x, k), dynamic_shapes=(rows, None)))
    for count in (2, 9):
        write_case(root / f"several_{count}", bytes(several.buffer), [torch.randn(count, 3), k])
    x = torch.ones(2, 3)
    methods = {"forward": Scale(), "plus": Plus()}
    scale = rushlight.compile(methods, {"forward": (x, 7), "plus": (x,)}, partitioner=())
    scale.save(root / "scale.pte")


def test_the_version_is_that_of_the_project() -> None:
    version = ElementTree.parse(JAVA / "pom.xml").getroot().find("{*}version")
    assert version is not None and version.text == rushlight.__version__


@pytest.mark.skipif(not os.environ.get("RUSHLIGHT_JAVA"), reason="`make java` runs it: it needs a JDK")
def test_the_package(tmp_path: Path) -> None:
    write_cases(tmp_path)
    jars = ["/usr/share/java/junit4.jar", "/usr/share/java/hamcrest-core.jar"]
    command = [
        "java",
        "-Xcheck:jni",
        *LIMITS,
        f"-Dorg.rushlight.library={BUILT / 'librushlight_jni.so'}",
        f"-Dorg.rushlight.cases={tmp_path}",
        "-cp",
        ":".join([str(BUILT / "rushlight.jar"), str(BUILT / "tests"), *jars]),
        "org.junit.runner.JUnitCore",
        *(f"org.rushlight.{name}" for name in TESTS),
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    text = done.stdout + done.stderr
    assert done.returncode == 0, text
    assert "OK (" in done.stdout, text
    for complaint in ("WARNING", "FATAL ERROR in native method", "Warning"):
        assert complaint not in text, text
    print(done.stdout)
