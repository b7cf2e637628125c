"""Small int8 networks agree with eager mode, with all sets of microkernels of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.backends.cpu.support import plan_of
from torch import nn

from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.cpu.plan.tables import Dequantize
from rushlight.backends.cpu.quantizer import CpuQuantizer
from rushlight.exir import to_edge_transform_and_lower
from rushlight.quantize.flow import quantize
from rushlight.quantize.specs import dynamic_int8, static_int8

F = nn.functional


def conv(inputs: int, outputs: int, kernel: int = 1, **options: Any) -> list[nn.Module]:
    layer = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False, **options)
    norm = nn.BatchNorm2d(outputs)
    nn.init.uniform_(norm.running_var, 0.2, 0.6)  # type: ignore[arg-type]
    return [layer, norm]


class Shortcut(nn.Module):
    def __init__(self, *layers: nn.Module, ends_in_relu: bool = False) -> None:
        super().__init__()
        self.layers, self.ends_in_relu = nn.Sequential(*layers), ends_in_relu

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x + self.layers(x)
        return torch.relu(y) if self.ends_in_relu else y


def mobile() -> nn.Module:
    inverted = [*conv(16, 48), nn.ReLU6(), *conv(48, 48, 3, groups=48), nn.ReLU6(), *conv(48, 16)]
    smaller = [*conv(16, 64), nn.ReLU6(), *conv(64, 64, 3, stride=2, groups=64), nn.ReLU6(), *conv(64, 24)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(24, 10)]
    return nn.Sequential(*conv(3, 16, 3, stride=2), nn.ReLU6(), Shortcut(*inverted), *smaller, *head)


def residual() -> nn.Module:
    def block() -> Shortcut:
        inner = [*conv(64, 32), nn.ReLU(), *conv(32, 32, 3), nn.ReLU(), *conv(32, 64)]
        return Shortcut(*inner, ends_in_relu=True)

    stem = [*conv(3, 64, 7, stride=2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    smaller = [*conv(64, 32, 3, stride=2), nn.ReLU()]
    return nn.Sequential(
        *stem, block(), block(), *smaller, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 7)
    )


def wide() -> nn.Module:
    """Returns products so deep that partial sums are stored between tiles."""

    def block() -> Shortcut:
        inner = [*conv(128, 64), nn.ReLU(), *conv(64, 64, 3), nn.ReLU(), *conv(64, 128)]
        return Shortcut(*inner, *conv(128, 128), ends_in_relu=True)

    return nn.Sequential(*conv(3, 128), nn.ReLU(), block(), block(), nn.Flatten(), nn.Linear(128 * 14 * 9, 5))


def large() -> nn.Module:
    """Returns 3 x 3 convolutions for which Winograd's algorithm is faster even with VNNI."""
    first = [*conv(64, 64), nn.ReLU(), *conv(64, 64, 3)]
    second = [*conv(64, 64, 3), nn.ReLU(), *conv(64, 64, 3), nn.ReLU(), *conv(64, 64)]
    blocks = [Shortcut(*first, ends_in_relu=True), Shortcut(*second)]
    return nn.Sequential(
        *conv(3, 64), nn.ReLU(), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 5)
    )


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.before, self.after = nn.LayerNorm(32), nn.LayerNorm(32)
        self.qkv, self.out = nn.Linear(32, 96), nn.Linear(32, 32)
        self.up, self.down = nn.Linear(32, 80), nn.Linear(80, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(self.before(x)).unflatten(-1, (3, 2, 16)).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.after(x))))


NETWORKS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "mobile": (mobile, (2, 3, 30, 26)),
    "residual": (residual, (1, 3, 58, 50)),
    "wide": (wide, (1, 3, 9, 14)),
    "large": (large, (1, 3, 43, 46)),
    "transformer": (Transformer, (2, 11, 32)),
}
RUN = """
import sys
import numpy as np
from rushlight.runtime import Runtime
folder = sys.argv[1]
method = Runtime.get().load_program(folder + "/model.pte").load_method("forward")
np.save(folder + "/result.npy", np.asarray(method.execute([np.load(folder + "/input.npy")])[0]))
"""


@pytest.fixture(scope="module", params=NETWORKS)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, float]:
    """Returns a folder with the program and its input, the results of eager mode, and their quantum or 0."""
    build, shape = NETWORKS[request.param]
    torch.manual_seed(11)
    x = torch.randn(shape)
    config = dynamic_int8() if request.param == "transformer" else static_int8()
    exported = quantize(build().eval(), (x,), CpuQuantizer().set_global(config), [(x,)])
    program = bytes(
        to_edge_transform_and_lower(exported, partitioner=[CpuPartitioner()]).to_executorch().buffer
    )
    last = plan_of(program).steps[-1].operation
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "model.pte").write_bytes(program)
    np.save(folder / "input.npy", x.numpy())
    with torch.no_grad():
        return folder, exported.module()(x), last.scale if isinstance(last, Dequantize) else 0.0


@pytest.mark.parametrize("isa", ["", "avx512vnni", "avx2", "avxvnni", "generic", "fours"])
def test_results_are_those_of_the_quantized_program(case: tuple[Path, Any, float], isa: str) -> None:
    folder, want, quantum = case
    environment = os.environ | ({"RUSHLIGHT_ISA": isa} if isa else {})
    subprocess.run([sys.executable, "-c", RUN, str(folder)], check=True, env=environment)
    difference = (torch.from_numpy(np.load(folder / "result.npy")) - want).abs().max()
    # Ties may round differently in every layer.
    assert difference <= (2.01 * quantum or 1e-2 * want.abs().max())
