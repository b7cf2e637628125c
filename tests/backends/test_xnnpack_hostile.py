"""A damaged payload causes an error at load, or has no effect. It never causes a crash."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from torch import nn

from rushlight.backends.xnnpack.graph import PerTokenDynamicQuant, XNNQuantizedTensorValue
from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.backends.xnnpack.payload import read_payload, write_payload
from rushlight.backends.xnnpack.quantizer import XNNPACKQuantizer
from rushlight.exir import to_edge_transform_and_lower
from rushlight.format.pte import PTELayout, read_pte, write_pte
from rushlight.quantize.flow import quantize
from rushlight.quantize.specs import dynamic_int8, dynamic_int8_weight_int4, static_int8
from rushlight.runtime import Runtime, RushlightError

pytestmark = pytest.mark.damage

SAMPLES = 600
HEADER = 48  # bytes of the header, with the alignment of the tables


class _Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 32, 3, padding=1, stride=2)
        self.depthwise = nn.Conv2d(32, 32, 3, groups=32)
        self.pool = nn.MaxPool2d(2)
        self.linear = nn.Linear(32, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.pool(torch.relu(self.depthwise(self.conv(x))))
        y = torch.cat([y, y * 2], 1)[:, 4:36]
        y = torch.softmax(self.linear(y.mean((2, 3), keepdim=True).flatten(1)), -1)
        return torch.nn.functional.pad(y, (1, 1)) + torch.tanh(y).sum()


CONFIGS = {
    "static": static_int8(),
    "dynamic": dynamic_int8(),
    "4-bit": dynamic_int8_weight_int4(group_size=32),
}


def _exported(kind: str, inputs: torch.Tensor) -> torch.export.ExportedProgram:
    if kind in ("float", "half"):
        return torch.export.export(_Net().eval().to(inputs.dtype), (inputs,))
    config: Any = CONFIGS[kind]
    return quantize(_Net().eval(), (inputs,), XNNPACKQuantizer().set_global(config), [(inputs,)])


@pytest.fixture(scope="module", params=["float", "half", *CONFIGS])
def program(request: pytest.FixtureRequest) -> tuple[bytearray, int, int, torch.Tensor]:
    """Returns the file, the start and the end of its payload, and an input."""
    inputs = torch.randn(1, 3, 16, 16, dtype=torch.float16 if request.param == "half" else torch.float32)
    edge = to_edge_transform_and_lower(_exported(request.param, inputs), partitioner=[XnnpackPartitioner()])
    data = bytearray(edge.to_executorch().buffer)
    payload = max((bytes(item) for item in read_pte(bytes(data)).delegate_data), key=len)
    start = data.index(payload)
    return data, start, start + len(payload), inputs


def _try(data: bytearray, inputs: torch.Tensor) -> None:
    try:
        loaded = Runtime.get().load_program(bytes(data))
        loaded.load_method("forward").execute([inputs])
    except RushlightError as error:
        assert str(error)


def test_whole(program: tuple[bytearray, int, int, torch.Tensor]) -> None:
    data, _, _, inputs = program
    Runtime.get().load_program(bytes(data)).load_method("forward").execute([inputs])


@pytest.mark.parametrize("change", ["flip", "zero", "ones", "increment"])
def test_damaged_byte(change: str, program: tuple[bytearray, int, int, torch.Tensor]) -> None:
    data, start, end, inputs = program
    chosen = random.Random(change)
    for at in sorted(chosen.sample(range(start, end), min(SAMPLES, end - start))):
        old = data[at]
        data[at] = {
            "flip": old ^ 1 << chosen.randrange(8),
            "zero": 0,
            "ones": 255,
            "increment": (old + 1) % 256,
        }[change]
        _try(data, inputs)
        data[at] = old


def test_random_words(program: tuple[bytearray, int, int, torch.Tensor]) -> None:
    data, start, end, inputs = program
    chosen = random.Random(7)
    for _ in range(SAMPLES):
        at = chosen.randrange(start, end - 4) & ~3
        old = data[at : at + 4]
        data[at : at + 4] = chosen.choice([2**31 - 1, 2**32 - 1, 65536, 7, 0]).to_bytes(4, "little")
        _try(data, inputs)
        data[at : at + 4] = old


def test_damaged_header(program: tuple[bytearray, int, int, torch.Tensor]) -> None:
    data, start, _, inputs = program
    for at in range(start, start + HEADER):
        old = data[at]
        for value in (0, 1, 127, 128, 255, old ^ 1, old ^ 16):
            data[at] = value
            _try(data, inputs)
        data[at] = old


def test_damaged_weights(program: tuple[bytearray, int, int, torch.Tensor]) -> None:
    """Changed numbers, such as infinities and negative scales, cause an error, or the program runs."""
    data, _, _, inputs = program
    chosen = random.Random(3)
    blobs = [bytes(entry.data) for entry in read_pte(bytes(data)).named_data.values()]
    assert blobs
    for blob in blobs:
        start = data.index(blob)
        for value in (b"\0", b"\xff", b"\x7f", b"\x80"):
            at = chosen.randrange(len(blob))
            size = chosen.choice((1, 4, len(blob) - at))
            damaged = data[:]
            damaged[start + at : start + at + size] = value * size
            _try(damaged, inputs)


def test_cut_short(program: tuple[bytearray, int, int, torch.Tensor]) -> None:
    data, start, end, inputs = program
    for size in sorted({*range(start, min(start + 64, end)), *range(start, len(data), 997)}):
        _try(data[:size], inputs)


def test_rows_with_more_dimensions_than_the_value_has() -> None:
    """The payload says that a row has 6 dimensions, but the operator computes a matrix."""
    x = torch.randn(3, 32)
    config = dynamic_int8(per_token=True)
    exported = quantize(nn.Linear(32, 8), (x,), XNNPACKQuantizer().set_global(config), [(x,)])
    edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    file = read_pte(edge.to_executorch().buffer)
    graph, constants = read_payload(bytes(file.delegate_data[0]))
    changed = 0
    for value in graph.xvalues:
        union = value.xvalue_union
        if isinstance(union, XNNQuantizedTensorValue) and isinstance(
            union.quant_params, PerTokenDynamicQuant
        ):
            assert union.tensor_value is not None
            union.tensor_value.num_dims, union.tensor_value.dims = 6, [1, 1, 1, 1, 3, 32]
            union.quant_params.num_nonbatch_dims = 6
            changed += 1
    assert changed == 1
    file.delegate_data = [write_payload(graph, bytes(constants))]
    with pytest.raises(RushlightError, match="rows of 6 dimensions, but its operator computes 2"):
        Runtime.get().load_program(write_pte(file, PTELayout())).load_method("forward")
