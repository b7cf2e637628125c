"""Whole networks in C. In every run, their results are equal to those of the portable kernels bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from models.catalog import MODELS
from tests.aot_c.harness import SANITIZED, check, compilers, needs_targets
from tests.aot_c.sanitized import run_all
from torch import nn

import rushlight
from models import selective
from rushlight.backends.cpu.quantizer import CpuQuantizer
from rushlight.quantize import (
    QuantizationConfig,
    dynamic_int8,
    dynamic_int8_weight_int4,
    export_float,
    quantize,
    static_int8,
)

Inputs = tuple[torch.Tensor, ...]


def block(channels: int, filters: int, stride: int = 1) -> list[nn.Module]:
    """Returns a depthwise and a pointwise convolution, each with a norm."""
    return [
        nn.Conv2d(channels, channels, 3, stride=stride, padding=1, groups=channels, bias=False),
        nn.BatchNorm2d(channels),
        nn.ReLU(),
        nn.Conv2d(channels, filters, 1, bias=False),
        nn.BatchNorm2d(filters),
        nn.ReLU(),
    ]


class Keywords(nn.Module):
    """A small network of depthwise separable convolutions over a spectrogram [batch, 1, 25, 10]."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, (10, 4), stride=2, padding=(5, 1)), nn.ReLU(), *block(16, 16), *block(16, 24)
        )
        self.classifier = nn.Linear(24, 12)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.classifier(self.features(x).mean((2, 3)))
        return logits


class Residual(nn.Module):
    """Inverted residuals with squeeze and excitation, as in MobileNetV3, and a transposed convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.Hardswish())
        self.expand = nn.Sequential(nn.Conv2d(8, 16, 1), nn.Hardswish(), *block(16, 8)[:-1])
        self.gate = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 4, 1), nn.ReLU6(), nn.Conv2d(4, 8, 1), nn.Hardsigmoid()
        )
        self.up = nn.ConvTranspose2d(8, 4, 3, stride=2, padding=1, output_padding=1, groups=2)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = self.stem(x)
        y = self.expand(x)
        x = x + y * self.gate(y)
        up = nn.functional.interpolate(self.up(x), scale_factor=2.0, mode="bilinear")
        return nn.functional.max_pool2d(x, 3, 2, 1), up


class Tokens(nn.Module):
    """Embeddings, a transformer and a norm."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(20, 16)
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, activation="gelu")
        self.head = nn.Linear(16, 20)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return torch.log_softmax(self.head(self.layer(self.embedding(tokens))), -1)


def program(module: nn.Module, inputs: Inputs) -> bytes:
    torch.manual_seed(0)
    return bytes(rushlight.compile(module.eval(), inputs, partitioner=()).buffer)


class Speech(nn.Module):
    """A network over the log-mel spectrogram of audio [batch, samples]."""

    def __init__(self) -> None:
        super().__init__()
        self.window = nn.Buffer(torch.hann_window(48))
        self.mel = nn.Buffer(torch.rand(8, 25))
        self.classifier = nn.Linear(8, 4)

    def forward(self, audio: torch.Tensor) -> torch.Tensor:
        spectrum = torch.stft(audio, 48, 16, window=self.window, return_complex=True)
        features = torch.log(self.mel @ spectrum.abs().square() + 1e-6)
        scores: torch.Tensor = self.classifier(features.mean(-1))
        return scores


class Filter(nn.Module):
    """Multiplies a complex spectrum by a constant filter. The lengths of the transforms are 67 and 12."""

    def __init__(self) -> None:
        super().__init__()
        self.response = nn.Buffer(torch.randn(12, 67, dtype=torch.complex64))

    def forward(self, spectrum: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        filtered = spectrum * self.response
        return filtered.conj(), torch.fft.ifft2(filtered).real


def dynamic_program(config: QuantizationConfig) -> bytes:
    """A network whose linear layers quantize their inputs at run time."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(32, 16), nn.GELU(), nn.Linear(16, 5)).eval()
    exported = export_float(module, (image(3, 32),), None)
    quantized = quantize(exported, None, CpuQuantizer().set_global(config), [image(3, 32)])
    return bytes(rushlight.compile(quantized, partitioner=()).buffer)


def int8_program(module: nn.Module, images: torch.Tensor) -> bytes:
    """A network that is quantized to integer kernels."""
    torch.manual_seed(0)
    exported = export_float(module.eval(), (images[:1],), None)
    quantized = quantize(exported, None, CpuQuantizer().set_global(static_int8()), images.split(1))
    return bytes(rushlight.compile(quantized, partitioner=()).buffer)


def seeded(make: Callable[[], nn.Module]) -> nn.Module:
    torch.manual_seed(0)
    return make()


def image(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(3))


def waves(*shape: int) -> torch.Tensor:
    return torch.view_as_complex(image(*shape, 2))


NETWORKS: dict[str, Callable[[], tuple[bytes, Inputs]]] = {
    "digits": lambda: (selective.digits_program("float32"), (selective.digits_images(1),)),
    "digits in int8": lambda: (selective.digits_program("int8"), (selective.digits_images(1),)),
    "keywords": lambda: (program(seeded(Keywords), (image(1, 1, 25, 10),)), (image(1, 1, 25, 10),)),
    "keywords in int8": lambda: (
        int8_program(seeded(Keywords), image(16, 1, 25, 10)),
        (image(1, 1, 25, 10),),
    ),
    "residual": lambda: (program(seeded(Residual), (image(1, 3, 16, 16),)), (image(1, 3, 16, 16),)),
    "perceptron": lambda: (
        program(
            seeded(lambda: nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 5), nn.Softmax(-1))),
            (image(3, 8),),
        ),
        (image(3, 8),),
    ),
    "lstm": lambda: (
        program(seeded(lambda: nn.LSTM(8, 16, batch_first=True)), (image(1, 5, 8),)),
        (image(1, 5, 8),),
    ),
    "gru": lambda: (
        program(seeded(lambda: nn.GRU(8, 16, batch_first=True)), (image(1, 5, 8),)),
        (image(1, 5, 8),),
    ),
    "speech": lambda: (program(seeded(Speech), (image(1, 320),)), (image(1, 320),)),
    "filter": lambda: (program(seeded(Filter), (waves(12, 67),)), (waves(12, 67),)),
    "dynamic int8": lambda: (dynamic_program(dynamic_int8()), (image(3, 32),)),
    "dynamic int8 by token": lambda: (dynamic_program(dynamic_int8(per_token=True)), (image(3, 32),)),
    "dynamic int4": lambda: (dynamic_program(dynamic_int8_weight_int4(group_size=16)), (image(3, 32),)),
    "transformer": lambda: (
        program(seeded(Tokens), (torch.arange(6)[None],)),
        (torch.arange(6)[None],),
    ),
}
QUICK = ("digits in int8", "residual", "speech", "dynamic int4", "transformer")
FLAGS = {"digits": ("-O3",), "lstm": ("-Os",)}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else [needs_targets]) for name in NETWORKS]
)
def test_bits_of_the_portable_kernels(name: str, tmp_path: Path) -> None:
    data, inputs = NETWORKS[name]()
    other: list[Any] = [(x + 3) if x.dtype == torch.int64 else x.flip(-1) for x in inputs]
    written = check(data, [list(inputs), other], tmp_path, flags=FLAGS.get(name, ("-O2",)))
    if name.startswith(("keywords", "digits", "speech", "filter", "dynamic")):
        run_all(written, tmp_path / "sanitized", SANITIZED)


@needs_targets
@pytest.mark.parametrize("compiler", compilers())
@pytest.mark.parametrize("name", ["mobilenet_v2", "mobilenet_v3_small", "resnet18"])
def test_networks_of_the_catalog(name: str, compiler: str, tmp_path: Path) -> None:
    module, inputs = MODELS[name]()
    data = bytes(rushlight.compile(module.eval(), inputs, partitioner=()).buffer)
    check(data, [list(inputs)], tmp_path, names=(compiler,))
