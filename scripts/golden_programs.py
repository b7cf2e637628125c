"""Writes programs of all kinds with inputs and results. Later versions must run them with the same results.

python scripts/golden_programs.py FOLDER

The name of the folder is a released version, as in `tests/golden/programs/0.1.0`. The files are written once,
when the version is released, and are never changed, because users have files of older versions.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch._higher_order_ops.while_loop import while_loop

import rushlight
from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.cpu.quantizer import CpuQuantizer
from rushlight.backends.xnnpack import XnnpackPartitioner, XNNPACKQuantizer, get_symmetric_quantization_config
from rushlight.delegate.partitioner import Partitioner
from rushlight.devtools.bundled_program import (
    BundledProgram,
    MethodTestCase,
    MethodTestSuite,
    serialize_from_bundled_program_to_flatbuffer,
)
from rushlight.exir import ExecutorchBackendConfig
from rushlight.quantize import quantize, static_int8


class Image(nn.Module):
    """Convolutions (plain, depthwise), batch norm, pooling and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(8, 8, 3, padding=1, groups=8),
            nn.BatchNorm2d(8),
            nn.ReLU6(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(8, 4),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.body(x)
        return y


class Rows(nn.Module):
    """Layers of a transformer, for any number of rows."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(16, 24), nn.GELU(), nn.LayerNorm(24), nn.Linear(24, 16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.body(x)
        return torch.softmax(y @ y.transpose(0, 1), -1) @ y + x


class Loops(nn.Module):
    """A condition and a loop."""

    def forward(self, x: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, (x,))
        _, y = while_loop(lambda i, y: i > 0, lambda i, y: (i - 1, y + y.sin()), (count, y))
        return y


class Memory(nn.Module):
    """A buffer that each call changes."""

    rows: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("rows", torch.zeros(4, 3))
        self.linear = nn.Linear(3, 3)

    def forward(self, place: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        self.rows.index_copy_(0, place, self.linear(x))
        return self.rows.sum(0) + 1


@dataclass(frozen=True)
class Case:
    """A program: its model, the inputs of each call, and the options of the compilation."""

    model: Callable[[], nn.Module]
    calls: Sequence[tuple[torch.Tensor, ...]]
    partitioner: Callable[[], Sequence[Partitioner]]
    quantizer: Callable[[], CpuQuantizer | XNNPACKQuantizer] | None = None
    dynamic: bool = False
    options: dict[str, Any] = field(default_factory=dict)


def _ramp(*shape: int) -> torch.Tensor:
    count = int(torch.tensor(shape).prod())
    return ((torch.arange(count) * 5 % 23 - 11) / 8).reshape(shape)


IMAGE = [(_ramp(1, 3, 12, 12),)]
ROWS = [(_ramp(5, 16),), (_ramp(2, 16),)]
LOOPS = [(_ramp(2, 3), torch.tensor(3)), (1 - _ramp(2, 3), torch.tensor(0))]
STEPS = [(torch.tensor([i]), _ramp(1, 3) + i) for i in (0, 2, 0)]

CASES = {
    "image-kernels": Case(Image, IMAGE, lambda: ()),
    "image-cpu-avx2": Case(Image, IMAGE, lambda: (CpuPartitioner("avx2"),)),
    "image-cpu-avx512": Case(Image, IMAGE, lambda: (CpuPartitioner("avx512"),)),
    "image-cpu-neon": Case(Image, IMAGE, lambda: (CpuPartitioner("neon"),)),
    "image-xnnpack": Case(Image, IMAGE, lambda: (XnnpackPartitioner(),)),
    "image-int8-cpu": Case(
        Image,
        IMAGE,
        lambda: (CpuPartitioner("avx2"),),
        lambda: CpuQuantizer().set_global(static_int8()),
    ),
    "image-int8-xnnpack": Case(
        Image,
        IMAGE,
        lambda: (XnnpackPartitioner(),),
        lambda: XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True)),
    ),
    "image-int8-kernels": Case(Image, IMAGE, lambda: (), lambda: CpuQuantizer().set_global(static_int8())),
    "rows-kernels": Case(Rows, ROWS, lambda: (), dynamic=True),
    "rows-cpu-avx2": Case(Rows, ROWS, lambda: (CpuPartitioner("avx2"),), dynamic=True),
    "rows-xnnpack": Case(Rows, ROWS, lambda: (XnnpackPartitioner(),), dynamic=True),
    "loops-kernels": Case(Loops, LOOPS, lambda: ()),
    "loops-cpu-avx2": Case(Loops, LOOPS, lambda: (CpuPartitioner("avx2"),)),
    "state-kernels": Case(Memory, STEPS, lambda: ()),
    "state-cpu-avx2": Case(Memory, STEPS, lambda: (CpuPartitioner("avx2"),)),
    "digest-kernels": Case(Rows, ROWS[:1], lambda: (), options={"digest": True}),
    "external-kernels": Case(
        Rows,
        ROWS[:1],
        lambda: (),
        options={
            "backend_config": ExecutorchBackendConfig(external_constants=lambda node: "external-kernels")
        },
    ),
}


def model_of(case: Case) -> nn.Module:
    """Returns the model. Its weights are the same on every machine."""
    model = case.model().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(_ramp(*parameter.shape) / 4)
    return model


def compiled(case: Case) -> rushlight.CompiledProgram:
    """Compiles a case."""
    model, inputs = model_of(case), case.calls[0]
    rows = {0: torch.export.Dim("rows", min=1, max=8)} if case.dynamic else None
    shapes = (rows,) if case.dynamic else None
    program: nn.Module | torch.export.ExportedProgram = model
    if case.quantizer is not None:
        program = quantize(model, inputs, case.quantizer(), [inputs])
    return rushlight.compile(
        program,
        None if case.quantizer is not None else inputs,
        dynamic_shapes=shapes,
        partitioner=case.partitioner(),
        **case.options,
    )


def write(folder: Path) -> None:
    """Writes all files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, case in CASES.items():
        program = compiled(case)
        program.save(folder / f"{name}.pte")
        program.manager.write_tensor_data_to_file(folder)
        data = sorted(str(path) for path in folder.glob(f"{name}*.ptd"))
        module = rushlight.load(folder / f"{name}.pte", data_path=data or None)
        arrays: dict[str, Any] = {}
        for call, inputs in enumerate(case.calls):
            arrays |= {f"{call}.input.{i}": value.numpy() for i, value in enumerate(inputs)}
            result = module(*inputs)
            results = result if isinstance(result, (tuple, list)) else (result,)
            arrays |= {f"{call}.output.{i}": value.numpy() for i, value in enumerate(results)}
        np.savez_compressed(folder / f"{name}.npz", **arrays)
    case = CASES["rows-kernels"]
    model = model_of(case)
    tests = [MethodTestCase(inputs, [model(*inputs).detach()]) for inputs in case.calls]
    bundle = BundledProgram(
        None, [MethodTestSuite("forward", tests)], pte_file_path=str(folder / "rows-kernels.pte")
    )
    (folder / "rows-kernels.bpte").write_bytes(serialize_from_bundled_program_to_flatbuffer(bundle))
    traced = rushlight.load(folder / "loops-kernels.pte", enable_etdump=True)
    traced(*LOOPS[0])
    traced.write_etdump_result_to_file(folder / "loops-kernels.etdp")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
