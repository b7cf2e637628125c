"""Programs with parts for OpenVINO agree with eager PyTorch."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

pytest.importorskip("openvino", reason="OpenVINO is not installed: pip install 'rushlight[openvino]'")

import rushlight
from rushlight.api import CompiledProgram
from rushlight.backends.cpu.quantizer import CpuQuantizer
from rushlight.backends.openvino import OpenvinoPartitioner
from rushlight.delegate.backend import CompileSpec
from rushlight.format.pte import PTEFile, read_pte, write_pte
from rushlight.ir.errors import CompileError
from rushlight.quantize import quantize, static_int8
from rushlight.runtime import Runtime, RushlightError


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1, stride=2)
        self.norm = nn.BatchNorm2d(8)
        self.depthwise = nn.Conv2d(8, 8, 3, groups=8)
        self.linear = nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.max_pool2d(F.hardswish(self.norm(self.conv(x))), 2)
        y = torch.cat([self.depthwise(y), y[:, :, 1:-1, 1:-1] * 2], 1)[:, 4:12]
        return torch.softmax(self.linear(F.gelu(y).mean((2, 3))), -1)


class Attention(nn.Module):
    """Integer inputs and two results, one of which is an integer tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(50, 16)
        self.norm = nn.LayerNorm(16)
        self.qkv = nn.Linear(16, 48)

    def forward(self, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        q, k, v = self.qkv(self.norm(self.embedding(ids))).chunk(3, -1)
        x = F.scaled_dot_product_attention(q.unsqueeze(1), k.unsqueeze(1), v.unsqueeze(1)).squeeze(1)
        values, places = torch.topk(x.sum(-1), 2)
        return values, places


CASES: dict[str, tuple[nn.Module, tuple[torch.Tensor, ...]]] = {}


def case(name: str) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    if not CASES:
        torch.manual_seed(0)
        CASES["convolutions"] = Convolutions().eval(), (torch.randn(2, 3, 16, 16),)
        CASES["attention"] = Attention().eval(), (torch.randint(0, 50, (2, 7)),)
    return CASES[name]


def parts(program: CompiledProgram) -> int:
    return len(read_pte(program.buffer).program.execution_plan[0].delegates)


def check(program: CompiledProgram, module: Any, inputs: tuple[torch.Tensor, ...], tolerance: float) -> None:
    outputs = Runtime.get().load_program(program.buffer).load_method("forward").execute(inputs)
    for output, expected in zip(outputs, torch.utils._pytree.tree_leaves(module(*inputs)), strict=True):
        assert output.dtype == expected.dtype
        torch.testing.assert_close(output, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", ["convolutions", "attention"])
def test_whole(name: str) -> None:
    module, inputs = case(name)
    partitioner = OpenvinoPartitioner()
    program = rushlight.compile(module, inputs, partitioner=[partitioner])
    assert partitioner.report.reasons == {}
    assert parts(program) == 1
    check(program, module, inputs, 1e-4)


def test_parts_around_what_it_is_not_to_take() -> None:
    module, inputs = case("convolutions")
    partitioner = OpenvinoPartitioner(op_types_to_skip={"aten.cat.default"})
    program = rushlight.compile(module, inputs, partitioner=[partitioner])
    assert [str(reason) for reason in partitioner.report.reasons.values()] == [
        "the options of the partitioner exclude it"
    ]
    assert parts(program) == 2
    check(program, module, inputs, 1e-4)


def test_reasons() -> None:
    class Doubles(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x.double() * 2).float() + 1

    inputs = (torch.randn(3),)
    partitioner = OpenvinoPartitioner()
    program = rushlight.compile(Doubles(), inputs, partitioner=[partitioner])
    assert any("float64" in reason for reason in partitioner.report.reasons.values())
    check(program, Doubles(), inputs, 1e-6)


def test_sizes_that_change() -> None:
    module, inputs = case("convolutions")
    batch = torch.export.Dim("batch", min=1, max=6)
    program = rushlight.compile(
        module, inputs, dynamic_shapes=({0: batch},), partitioner=[OpenvinoPartitioner()]
    )
    assert parts(program) >= 1
    for count in (1, 5, 2):
        check(program, module, (torch.randn(count, 3, 16, 16),), 1e-4)


def test_quantized() -> None:
    module, inputs = case("convolutions")
    data = [(torch.randn(2, 3, 16, 16),) for _ in range(4)]
    quantized = quantize(module, inputs, CpuQuantizer().set_global(static_int8()), [*data, inputs])
    program = rushlight.compile(quantized, partitioner=[OpenvinoPartitioner()])
    assert parts(program) == 1
    payload = bytes(read_pte(program.buffer).delegate_data[0])
    assert payload.count(b'type="FakeQuantize"') > 5 and b'element_type="i8"' in payload
    # Processors without VNNI add pairs of products in 16 bits: some sums saturate.
    check(program, module, inputs, 0.05)


def test_quantization_at_the_edge_of_a_part() -> None:
    """A part that ends with a quantize node returns integers.

    A part that starts with a dequantize node reads them.
    """
    operators = torch.ops.quantized_decomposed

    class Ends(nn.Module):
        def forward(self, x: torch.Tensor, q: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return (
                operators.quantize_per_tensor(x * 2, 0.05, -7, -128, 127, torch.int8),
                operators.dequantize_per_tensor(q, 0.5, 3, -128, 127, torch.int8) + 1,
            )

    inputs = (torch.randn(40) * 3, torch.randint(-128, 128, (40,), dtype=torch.int8))
    program = rushlight.compile(Ends(), inputs, partitioner=[OpenvinoPartitioner()])
    assert parts(program) == 1
    check(program, Ends(), inputs, 1e-6)


def test_device_and_properties() -> None:
    module, inputs = case("attention")
    specs = [CompileSpec("device", b"CPU"), CompileSpec("INFERENCE_NUM_THREADS", b"1")]
    check(rushlight.compile(module, inputs, partitioner=[OpenvinoPartitioner(specs)]), module, inputs, 1e-4)
    unknown = rushlight.compile(
        module, inputs, partitioner=[OpenvinoPartitioner([CompileSpec("device", b"ABACUS")])]
    )
    with pytest.raises(RushlightError, match="ABACUS"):
        Runtime.get().load_program(unknown.buffer).load_method("forward")


@pytest.fixture(scope="module")
def file() -> PTEFile:
    module, inputs = case("attention")
    return read_pte(rushlight.compile(module, inputs, partitioner=[OpenvinoPartitioner()]).buffer)


def with_payload(file: PTEFile, payload: bytes) -> bytes:
    original, file.delegate_data[0] = file.delegate_data[0], payload
    try:
        return write_pte(file)
    finally:
        file.delegate_data[0] = original


IMPORTED: dict[str, Any] = {"rtol": 2e-2, "atol": 2e-2}
"""OpenVINO runs models that it imports in bfloat16 where the processor has instructions for that."""


def test_what_openvino_exported(file: PTEFile) -> None:
    """A payload of ExecuTorch's OpenvinoBackend."""
    import openvino

    payload = bytes(file.delegate_data[0])
    size = int.from_bytes(payload[16:24], "little")
    start = -(-(32 + size) // 64) * 64
    core = openvino.Core()
    model = core.read_model(payload[32 : 32 + size], payload[start:])
    exported = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}).export_model().getvalue()
    module, inputs = case("attention")
    method = Runtime.get().load_program(with_payload(file, exported)).load_method("forward")
    torch.testing.assert_close(method.execute(inputs), list(module(*inputs)), **IMPORTED)


def test_what_openvino_exported_with_weights() -> None:
    """A compiled model reads its packed weights from the payload without a copy."""
    import openvino

    module, x = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU()).eval(), torch.randn(1, 3, 16, 16)
    program = rushlight.compile(module, (x,), partitioner=[OpenvinoPartitioner()])
    file = read_pte(program.buffer)
    model = openvino.convert_model(module, example_input=x, input=[1, 3, 16, 16])
    compiled = openvino.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    data = with_payload(file, compiled.export_model().getvalue())
    method = Runtime.get().load_program(data).load_method("forward")
    for _ in range(2):
        torch.testing.assert_close(method.execute([x]), [module(x)], **IMPORTED)


def test_damaged(file: PTEFile) -> None:
    payload = bytes(file.delegate_data[0])
    rest = random.Random(0).sample(range(32, len(payload)), 60)
    for place in [*range(32), *rest]:
        damaged = bytearray(payload)
        damaged[place] ^= 0x41
        with pytest.raises(RushlightError, match="OpenVINO"):
            Runtime.get().load_program(with_payload(file, bytes(damaged))).load_method("forward")
    for length in (0, 3, 4, 31, 32, 100, len(payload) - 1):
        with pytest.raises(RushlightError):
            Runtime.get().load_program(with_payload(file, payload[:length])).load_method("forward")


def test_absent_at_run_time(file: PTEFile, tmp_path: Path) -> None:
    path = tmp_path / "model.pte"
    path.write_bytes(write_pte(file))
    code = f"import rushlight\ntry: rushlight.load({str(path)!r}).forward\nexcept Exception as e: print(e)"
    environment = os.environ | {"OPENVINO_LIB_PATH": str(tmp_path / "libopenvino_c.so")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert "OpenvinoBackend" in done.stdout
    assert "pip install 'rushlight[openvino]'" in done.stdout


def test_absent_ahead_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    module, inputs = case("attention")
    for name in ("openvino.frontend", "openvino.frontend.pytorch.fx_decoder"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(CompileError, match=r"rushlight\[openvino\]"):
        rushlight.compile(module, inputs, partitioner=[OpenvinoPartitioner()])
