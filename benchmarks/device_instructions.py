"""Counts instructions of int8 networks on microcontrollers: `python -m benchmarks.device_instructions`.

Each network is built twice for a Cortex-M4 (DSP instructions) and a Cortex-M55 (Helium): with portable
kernels only, and with the microkernels for the processor. QEMU counts the instructions (`-icount shift=0`).
The command needs arm-none-eabi-g++ and qemu-system-arm (`scripts/system-packages devices`).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import torch

from models import selective

ROOT = Path(__file__).parents[1]
NANOSECONDS = {"cortex-m4": 40.0, "cortex-m55": 31.25}
"""The nanoseconds of a tick of the board's timer, by processor. In QEMU, an instruction takes 1 ns."""
GOALS = {"cortex-m4": 4, "cortex-m55": 8}
"""Goals for the digits network: instructions with portable kernels / those with microkernels."""
WHOLE = "whole"


class Operators(torch.nn.Module):
    """Operators that the other networks do not have: float32 [batch, 3, 16, 16] to [batch, 256]."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(3, 16, 3, padding=1)
        self.second = torch.nn.Conv2d(16, 16, 3, padding=1, groups=4)
        self.gate = torch.nn.Conv2d(16, 16, 1)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Returns the probabilities."""
        x = torch.relu(self.first(images))
        x = x + torch.relu(self.second(x))
        x = x * torch.sigmoid(self.gate(x.mean((2, 3), keepdim=True)))
        x = torch.nn.functional.avg_pool2d(x, 2)
        x = torch.nn.functional.max_pool2d(x, 3, 2, 1)
        return torch.softmax(x.flatten(1), -1)


def operators_program() -> bytes:
    """Compiles the network `Operators` with random weights in int8."""
    torch.manual_seed(0)
    return selective.program_of_network(Operators(), torch.randn(8, 3, 16, 16), "int8")


class SmallLayers(torch.nn.Module):
    """Layers whose preparation takes many of the instructions: float32 [batch, 8, 2, 2] to [batch, 10]."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(8, 16, 1)
        self.second = torch.nn.Conv2d(16, 16, 1)
        self.third = torch.nn.Conv2d(16, 32, 1)
        self.hidden = torch.nn.Linear(32, 16)
        self.last = torch.nn.Linear(16, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Returns the probabilities."""
        x = self.first(images)
        x = x + torch.relu(self.second(x))
        x = torch.nn.functional.avg_pool2d(x, 2)
        x = torch.relu(self.third(x)).flatten(1)
        return torch.softmax(self.last(torch.relu(self.hidden(x))), -1)


def small_program() -> bytes:
    """Compiles the network `SmallLayers` with random weights in int8."""
    torch.manual_seed(0)
    return selective.program_of_network(SmallLayers(), torch.randn(8, 8, 2, 2), "int8")


PROGRAMS: Mapping[str, Callable[[], bytes]] = {
    "digits": lambda: selective.digits_program("int8"),
    "keywords": lambda: selective.keyword_program("int8"),
    "operators": operators_program,
    "small": small_program,
}


def count(project: Path, toolchain: str, portable: bool) -> dict[str, list[tuple[str, float]]]:
    """Builds and runs the application of benchmarks/device.

    Args:
        project: the output folder of `rushlight select --portable --embed`.
        toolchain: the name of the toolchain file, which is the processor.
        portable: whether the microkernels are left out.

    Returns:
        The instructions of each program: by operator in their order, and last of the WHOLE run.
    """
    options = ["-DRUSHLIGHT_CORTEX_M=OFF"] if portable else []
    folder = selective.build(project, "application", toolchain, options, ROOT / "benchmarks" / "device")
    code, text = selective.run(folder, toolchain, "application", ("-icount", "shift=0"))
    if code != 0:
        raise RuntimeError(text)
    found: dict[str, list[tuple[str, float]]] = {}
    for line in text.splitlines():
        kind, *rest = line.split()
        if kind == "program":
            found[rest[0]] = []
        elif kind == "ticks":
            *_, rows = found.values()
            rows.append((rest[1], int(rest[0]) * NANOSECONDS[toolchain]))
    return found


def main() -> int:
    """Prints instructions of operators and networks, and returns 1 if a goal is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--processors", nargs="+", choices=NANOSECONDS, default=list(NANOSECONDS))
    arguments = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = []
        for program, build in PROGRAMS.items():
            files.append(folder / f"{program}.pte")
            files[-1].write_bytes(build())
        for toolchain in arguments.processors:
            counts = []
            for kind in ("portable", "optimized"):
                project = selective.select(files, folder / f"{toolchain}-{kind}", "--portable", "--embed")
                counts.append(count(project, toolchain, kind == "portable"))
            portable, optimized = counts
            for program, rows in portable.items():
                print(f"\n{program} on {toolchain}")
                print(f"{'operator':48} {'portable':>12} {'optimized':>12} {'ratio':>7}")
                for (operator, before), (_, after) in zip(rows, optimized[program], strict=True):
                    print(f"{operator:48} {before:12.0f} {after:12.0f} {before / max(after, 1):7.1f}")
            before, after = (dict(c["digits"])[WHOLE] for c in counts)
            failed |= before < GOALS[toolchain] * after
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
