"""Selective builds of small networks, for tests and measurements: programs, builds, runs on boards."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Collection, Sequence
from pathlib import Path

import torch

import rushlight
from models.common import image, import_torchvision
from models.keyword_spotting import KeywordSpotting, keyword_spectra
from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.cpu.quantizer import CpuQuantizer
from rushlight.cli.main import main
from rushlight.delegate.partitioner import Partitioner
from rushlight.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from rushlight.devtools.bundled_program.core import BundledProgram
from rushlight.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer
from rushlight.quantize import export_float, quantize, static_int8

ROOT = Path(__file__).parents[1]
HOST = "host"
WINDOWS = "x86_64-windows"

# The command that runs a program on a board in QEMU, by toolchain.
EMULATORS: dict[str, tuple[str, ...]] = {
    "cortex-m4": ("qemu-system-arm", "-M", "mps2-an386", "-semihosting"),
    "cortex-m7": ("qemu-system-arm", "-M", "mps2-an500", "-semihosting"),
    "cortex-m55": ("qemu-system-arm", "-M", "mps3-an547", "-semihosting"),
    "rv32imc": ("qemu-system-riscv32", "-M", "virt", "-bios", "none", "-semihosting-config", "enable=on"),
}
COMPILERS = {"rv32imc": "riscv64-unknown-elf-g++"}


class DigitsNet(torch.nn.Module):
    """A classifier of images of digits: [batch, 1, 8, 8] float32 to [batch, 10] logits."""

    def __init__(self) -> None:
        super().__init__()
        self.features = torch.nn.Sequential(
            *self._block(1, 16),
            *self._block(16, 32),
            torch.nn.MaxPool2d(2),
            *self._block(32, 32),
            torch.nn.MaxPool2d(2),
        )
        self.classifier = torch.nn.Linear(32 * 2 * 2, 10)

    @staticmethod
    def _block(channels: int, filters: int) -> list[torch.nn.Module]:
        convolution = torch.nn.Conv2d(channels, filters, 3, padding=1, bias=False)
        return [convolution, torch.nn.BatchNorm2d(filters), torch.nn.ReLU()]

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Returns the logits."""
        logits: torch.Tensor = self.classifier(torch.flatten(self.features(images), 1))
        return logits


def has_tools(toolchain: str) -> bool:
    """Whether the compiler and the emulator of a toolchain are installed."""
    compiler = COMPILERS.get(toolchain, "arm-none-eabi-g++")
    return shutil.which(compiler) is not None and shutil.which(EMULATORS[toolchain][0]) is not None


def digits_images(count: int = 4) -> torch.Tensor:
    """Returns images [count, 1, 8, 8] of multiples of 1/16 in [0, 1], as in the digits data set."""
    generator = torch.Generator().manual_seed(1)
    return torch.randint(0, 17, (count, 1, 8, 8), generator=generator) / 16


def digits_program(form: str, *, plans: bool = False, memories: Sequence[rushlight.Memory] = ()) -> bytes:
    """Compiles the digits network with random weights.

    Args:
        form: `float32` or `int8`.
        plans: whether CpuBackend runs it; otherwise kernels do.
        memories: the memories of the device; one without a limit by default.
    """
    torch.manual_seed(0)
    return program_of_network(DigitsNet(), digits_images(32), form, plans=plans, memories=memories)


def keyword_program(form: str, *, width: int = 64) -> bytes:
    """Compiles the keyword-spotting network with random weights for kernels.

    Args:
        form: `float32` or `int8`.
        width: the number of channels of the convolutions.
    """
    torch.manual_seed(0)
    return program_of_network(KeywordSpotting(width), keyword_spectra(8), form)


def program_of_network(
    network: torch.nn.Module,
    samples: torch.Tensor,
    form: str,
    *,
    plans: bool = False,
    memories: Sequence[rushlight.Memory] = (),
) -> bytes:
    """Compiles a network with one input.

    Args:
        network: the network.
        samples: inputs [count, ...] for calibration.
        form: `float32` or `int8`.
        plans: whether CpuBackend runs it; otherwise kernels do.
        memories: the memories of the device; one without a limit by default.
    """
    program = export_float(network.eval(), (samples[:1],), None)
    if form == "int8":
        quantizer = CpuQuantizer().set_global(static_int8())
        quantizer.set_operator_type(torch.ops.aten.softmax.int, static_int8())
        program = quantize(program, None, quantizer, samples.split(1))
    partitioner = None if plans else ()
    return bytes(rushlight.compile(program, partitioner=partitioner, memories=memories).buffer)


def with_cases(
    program: bytes, inputs: Sequence[torch.Tensor | tuple[torch.Tensor, ...]], folder: Path, name: str
) -> Path:
    """Writes a program with a test case for each input, or each tuple of inputs."""
    plain = folder / f"{name}.pte"
    plain.write_bytes(program)
    cases = [MethodTestCase([case] if isinstance(case, torch.Tensor) else list(case)) for case in inputs]
    bundle = BundledProgram(None, [MethodTestSuite("forward", cases)], pte_file_path=str(plain))
    path = folder / f"{name}.bpte"
    path.write_bytes(serialize_from_bundled_program_to_flatbuffer(bundle))
    return path


def build(
    project: Path,
    target: str,
    toolchain: str = HOST,
    options: Sequence[str] = (),
    application: Path | None = None,
) -> Path:
    """Builds a target of a project that `rushlight select` wrote.

    Args:
        project: the folder of the project.
        target: the target.
        toolchain: HOST, or the name of a toolchain file.
        options: further arguments for CMake.
        application: the folder of an application that uses the project as DEVICE, or None.

    Returns:
        The build folder, inside the folder of the project.
    """
    folder = project / (f"{application.name}-{toolchain}" if application else toolchain)
    tools = Path(sys.executable).parent
    cmake, ninja = (str(tools / name) if (tools / name).exists() else name for name in ("cmake", "ninja"))
    options = [*options, f"-DDEVICE={project}"] if application else options
    command = [
        cmake,
        "-S",
        application or project,
        "-B",
        folder,
        "-G",
        "Ninja",
        f"-DCMAKE_MAKE_PROGRAM={ninja}",
        *options,
    ]
    if shutil.which("ccache"):
        command.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
    if toolchain != HOST:
        command += ["--toolchain", ROOT / "runtime" / "cmake" / "toolchains" / f"{toolchain}.cmake"]
    # The preprocessed sources do not contain the path of the project, so that a compiler cache works for all
    # folders.
    environment = {**os.environ, "CCACHE_BASEDIR": str(project), "CCACHE_NOHASHDIR": "1"}
    for step in (command, [cmake, "--build", folder, "-t", target, "-j", "2"]):
        done = subprocess.run([str(word) for word in step], capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, step))}:\n{done.stdout[-6000:]}{done.stderr[-3000:]}")
    return folder


def select(programs: Sequence[Path], project: Path, *options: str) -> Path:
    """Runs `rushlight select`. Returns the folder of the project."""
    if main(["select", *map(str, programs), "--out", str(project), *options]) != 0:
        raise RuntimeError(f"rushlight select failed for {programs}")
    return project


def run(
    folder: Path, toolchain: str = HOST, program: str = "runner", emulator_options: Sequence[str] = ()
) -> tuple[int, str]:
    """Runs a program of a build: on the host, in QEMU or in Wine.

    Args:
        folder: the folder of the build.
        toolchain: HOST, or the name of a toolchain file.
        program: the file in the folder.
        emulator_options: further arguments for QEMU.

    Returns:
        The exit code and the output.
    """
    command = [str(folder / program)]
    if toolchain == WINDOWS:
        command = ["wine", f"{folder / program}.exe"]
    elif toolchain != HOST:
        command = [
            *EMULATORS[toolchain],
            "-nographic",
            "-monitor",
            "none",
            *emulator_options,
            "-kernel",
            *command,
        ]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=300,
        env={**os.environ, "WINEDEBUG": "-all"},
    )
    return done.returncode, done.stdout.replace("\r\n", "\n")


def outputs(text: str) -> list[str]:
    """Returns the lines of a runner's output that contain the bits of the results."""
    lines = [line for line in text.splitlines() if line.startswith("output ")]
    if not lines:
        raise RuntimeError(f"the runner printed no results:\n{text}")
    return lines


def bits_of(tensor: torch.Tensor) -> str:
    """Returns a float32 tensor in the form in which the runner prints it."""
    words = tensor.contiguous().view(torch.int32).flatten().tolist()
    return "output 0: float32 " + " ".join(f"{word & 0xFFFFFFFF:08x}" for word in words)


KIB = 1024
BUDGETS = {
    "core without kernels, Cortex-M4": 32 * KIB,
    "core and digits in int8, Cortex-M4": 64 * KIB,
    "RAM beyond arena, scratch, stack and model, Cortex-M4": 4 * KIB,
}
"""Limits of the sizes that `device_sizes` measures, in bytes."""

HOST_BUDGETS = {
    "executor_runner, x86-64": 6_000_000,
    "executor_runner for MobileNetV2 on portable kernels, x86-64": 400_000,
    "executor_runner for MobileNetV2 on CpuBackend, x86-64 with AVX2": 400_000,
}
"""Limits of the sizes that `host_sizes` measures, in bytes."""

SMALL = ("-DCMAKE_BUILD_TYPE=MinSizeRel",)
"""The CMake options of a small build."""

_SILENT = ("-DRUSHLIGHT_TRACING=OFF", "-DRUSHLIGHT_MESSAGES=OFF")
_MEMORIES = ("arena", "structures", "scratch")


def device_sizes(folder: Path) -> dict[str, int]:
    """Measures the sizes of BUDGETS on a Cortex-M4, without the messages of errors.

    Code is the content of the flash of `examples/microcontroller`, with the startup code and the library of
    the compiler, but without the model. RAM is the static data of the runner and the structures of the loaded
    method.

    Args:
        folder: an empty folder for the builds.
    """
    program = folder / "digits.pte"
    program.write_bytes(digits_program("int8"))
    project = select([program], folder / "digits", "--portable", "--embed")
    runner = build(project, "runner", "cortex-m4", _SILENT)
    code, text = run(runner, "cortex-m4")
    if code != 0:
        raise RuntimeError(text)
    structures = int(text.split(" of structures")[0].split()[-1])
    ram = _static_data(runner) + structures
    application = ROOT / "examples" / "microcontroller"
    digits = build(project, "application", "cortex-m4", _SILENT, application)
    if run(digits, "cortex-m4", "application")[0] != 0:
        raise RuntimeError(f"{application} does not run the digits network")
    # The same application without kernels.
    operators = folder / "operators.txt"
    operators.write_text("")
    core = select([operators], folder / "core", "--portable")
    shutil.copy(project / "programs.cpp", core)
    bare = build(core, "application", "cortex-m4", _SILENT, application)
    model = program.stat().st_size
    return dict(zip(BUDGETS, (_flash(bare) - model, _flash(digits) - model, ram), strict=True))


def host_sizes(folder: Path, names: Collection[str] = tuple(HOST_BUDGETS)) -> dict[str, int]:
    """Measures the sizes of HOST_BUDGETS: stripped files.

    Args:
        folder: an empty folder for the builds.
        names: keys of HOST_BUDGETS.
    """
    _, portable, plan = HOST_BUDGETS
    forms: dict[str, tuple[Sequence[Partitioner], Sequence[str], Sequence[str]]] = {
        portable: ((), ["--portable"], ()),
        plan: ([CpuPartitioner(target="avx2")], (), SMALL),
    }
    sizes: dict[str, int] = {}
    for name in names:
        runner = ROOT / "build" / "dev" / "runtime" / "executor_runner"  # the build of `make build`
        if name in forms:
            partitioner, selection, options = forms[name]
            network = import_torchvision().models.mobilenet_v2(weights=None).eval()
            program = folder / f"{len(sizes)}.pte"
            program.write_bytes(rushlight.compile(network, image(), partitioner=partitioner).buffer)
            project = select([program], folder / program.stem, *selection)
            (runner,) = build(project, "executor_runner", options=options).rglob("executor_runner")
        stripped = folder / "stripped"
        subprocess.run(["strip", "-o", stripped, runner], check=True)
        sizes[name] = stripped.stat().st_size
    return sizes


def _sections(program: Path) -> list[int]:
    """Returns the bytes of code and constants, of initialized data and of zero-initialized data."""
    command = ["arm-none-eabi-size", str(program)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [int(word) for word in lines[1].split()[:3]]


def _flash(folder: Path) -> int:
    text, data, _ = _sections(folder / "application")
    return text + data


def _static_data(folder: Path) -> int:
    """Returns the bytes of static data, without the arrays for the memories of methods."""
    command = ["arm-none-eabi-nm", "-S", "-C", str(folder / "runner")]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    _, data, bss = _sections(folder / "runner")
    sizes = [
        int(line.split()[1], 16)
        for line in names.splitlines()
        if "rushlight::device" in line and line.rpartition("::")[2] in _MEMORIES
    ]
    if len(sizes) != len(_MEMORIES):
        raise RuntimeError(
            f"the runner has {len(sizes)} arrays for the memories of methods, not {len(_MEMORIES)}"
        )
    return data + bss - sum(sizes)
