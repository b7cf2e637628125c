"""Programs in C run on emulated boards, and compile for several processors without warnings."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
import torch
from tests.aot_c.harness import STRICT, PortableInterpreter, needs_targets, write

from models import selective
from rushlight.aot_c.program import CProgram, c_program
from rushlight.aot_c.source import array
from rushlight.format.program import ScalarType
from rushlight.format.pte import read_pte

RUNTIME = selective.ROOT / "runtime"
DEVICE = RUNTIME / "device"
NEWLIB = "/usr/include/newlib"
MACHINES: dict[str, tuple[str, list[str], str]] = {
    "cortex-m4": (
        "arm-none-eabi",
        ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"],
        "mps",
    ),
    "cortex-m7": (
        "arm-none-eabi",
        ["-mcpu=cortex-m7", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv5-sp-d16"],
        "mps",
    ),
    "rv32imc": (
        "riscv64-unknown-elf",
        ["-march=rv32imc", "-mabi=ilp32", "-mcmodel=medany", "-isystem", NEWLIB],
        "riscv32_virt",
    ),
}
LIBRARIES = {"rv32imc": ["-L/usr/lib/picolibc/riscv64-unknown-elf/lib/rv32im/ilp32"]}
CPP = {
    "rv32imc": [
        f"-isystem{NEWLIB}/c++/12.2.1",
        f"-isystem{NEWLIB}/c++/12.2.1/arm-none-eabi",
    ]
}
TARGETS = [
    pytest.param(form, name, marks=[] if (form, name) == ("int8", "cortex-m4") else [needs_targets])
    for form in ("int8", "float32")
    for name in MACHINES
]


@cache
def digits_program(form: str) -> bytes:
    return selective.digits_program(form)


def run_words(command: list[object]) -> None:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-6000:]


def build(program: CProgram, images: torch.Tensor, folder: Path, machine: str, level: str = "-Os") -> Path:
    """Links a program in C with the startup code of the device runtime and a main program with inputs."""
    triple, flags, board = MACHINES[machine]
    write(program, folder)
    shutil.copy(Path(__file__).parent / "device_main.c", folder)
    data = images.contiguous().numpy().tobytes()
    inputs = array("static const float inputs", data, ScalarType.FLOAT)
    (folder / "cases.h").write_text(
        f'#include "model.h"\n#define FUNCTION model_forward\n#define CASES {len(images)}\n'
        "#define IN_SIZE MODEL_FORWARD_IN_SIZE\n#define OUT_SIZE MODEL_FORWARD_OUT_SIZE\n"
        f'#define OUT_TYPE float\n#define OUT_NAME "float32"\n{inputs}\n'
    )
    objects: list[object] = []
    sections = ["-ffunction-sections", "-fdata-sections"]
    for name in ("model.c", "device_main.c"):
        objects.append(folder / f"{name}.o")
        compiler = [f"{triple}-gcc", *STRICT, level, *flags, *sections]
        run_words([*compiler, "-c", folder / name, "-o", objects[-1]])
    for name in ("startup_bare", "console_bare"):
        objects.append(folder / f"{name}.o")
        run_words(
            [
                f"{triple}-g++",
                "-std=c++17",
                "-Os",
                *flags,
                *CPP.get(machine, []),
                *sections,
                "-fno-exceptions",
                "-fno-rtti",
                f"-I{RUNTIME}",
                f"-I{RUNTIME / 'include'}",
                "-c",
                DEVICE / f"{name}.cpp",
                "-o",
                objects[-1],
            ]
        )
    link = ["-nostdlib", f"-L{DEVICE}", f"-T{DEVICE / 'boards' / f'{board}.ld'}", "-Wl,--gc-sections"]
    libraries = [*LIBRARIES.get(machine, []), "-Wl,--start-group", "-lm", "-lc", "-lgcc", "-Wl,--end-group"]
    run_words([f"{triple}-gcc", *flags, *link, *objects, *libraries, "-o", folder / "runner"])
    return folder


@pytest.mark.parametrize("form,machine", TARGETS)
def test_digits_have_the_results_of_the_host(form: str, machine: str, tmp_path: Path) -> None:
    if not selective.has_tools(machine):
        pytest.skip("needs the compiler and the emulator of the board")
    data = digits_program(form)
    images = selective.digits_images(3)
    folder = build(c_program(data, "model"), images, tmp_path, machine)
    code, text = selective.run(folder, machine)
    assert code == 0, text
    expected = PortableInterpreter(read_pte(data))
    assert selective.outputs(text) == [selective.bits_of(expected(image)[0]) for image in images.split(1)]


@pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="needs arm-none-eabi-gcc")
def test_code_calls_no_allocator_and_no_stdio(tmp_path: Path) -> None:
    """The only undefined symbols of the object are some functions of the C library."""
    write(c_program(digits_program("int8"), "model"), tmp_path)
    compiler = ["arm-none-eabi-gcc", *STRICT, "-Os", *MACHINES["cortex-m4"][1]]
    run_words([*compiler, "-c", tmp_path / "model.c", "-o", tmp_path / "model.o"])
    names = subprocess.run(
        ["arm-none-eabi-nm", "-u", str(tmp_path / "model.o")], capture_output=True, text=True, check=True
    )
    assert {line.split()[-1] for line in names.stdout.splitlines()} <= {"memcpy", "memset"}
