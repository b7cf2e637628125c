"""Tests of the passes that give quantized programs integer inputs and outputs."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.export import export
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from rushlight.backends.xnnpack.quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from rushlight.compat.quantized_io import (
    QuantizeInputs,
    QuantizeOutputs,
    get_config_method_name,
    quantize_input,
)
from rushlight.exir import EdgeCompileConfig, to_edge
from rushlight.ir.errors import PassError
from rushlight.runtime import Runtime

qd = torch.ops.quantized_decomposed


class Add(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y


INPUTS = (torch.linspace(-1, 1, 6).reshape(2, 3), torch.linspace(2, -3, 6).reshape(2, 3))


def manager() -> Any:
    prepared = prepare_pt2e(
        export(Add(), INPUTS).module(), XNNPACKQuantizer().set_global(get_symmetric_quantization_config())
    )
    prepared(*INPUTS)
    program = export(convert_pt2e(prepared), INPUTS)
    return to_edge(program, compile_config=EdgeCompileConfig(_check_ir_validity=False))


def parameters(of: Any, kind: str, index: int) -> list[Any]:
    methods = of._config_methods
    return [
        methods[get_config_method_name("forward", kind, index, key)]
        for key in ("scale", "zp", "quant_min", "quant_max", "dtype")
    ]


def test_programs_take_integers() -> None:
    edge = manager()
    expected = edge.exported_program().module()(*INPUTS)
    changed = edge.transform([QuantizeInputs(edge, [0, 1], "forward")])
    integers = []
    for index, value in enumerate(INPUTS):
        scale, zero_point, least, greatest, dtype = parameters(changed, "input", index)
        assert dtype == 1  # int8
        integers.append(qd.quantize_per_tensor.default(value, scale, zero_point, least, greatest, torch.int8))
    assert torch.equal(changed.exported_program().module()(*integers), expected)
    program = Runtime.get().load_program(changed.to_executorch().buffer)
    assert program.metadata("forward").input_tensor_meta(0).dtype() == 1
    assert torch.allclose(program.load_method("forward").execute(integers)[0], expected)


def test_programs_give_integers() -> None:
    edge = manager()
    expected = edge.exported_program().module()(*INPUTS)
    changed = edge.transform([QuantizeOutputs(edge, [0], "forward")])
    result = changed.exported_program().module()(*INPUTS)
    scale, zero_point, *_ = parameters(changed, "output", 0)
    assert result.dtype is torch.int8
    assert torch.equal((result.to(torch.float32) - zero_point) * scale, expected)


def test_other_integers_are_quantized_anew() -> None:
    program = manager().exported_program()
    wanted = {"scale": 0.05, "zp": 100, "dtype": torch.uint8}
    assert quantize_input(program, 0, wanted) == (0.05, 100, 0, 255, torch.uint8)
    integers = (INPUTS[0] / 0.05 + 100).round().to(torch.uint8)
    assert torch.allclose(program.module()(integers, INPUTS[1]), INPUTS[0] + INPUTS[1], atol=0.06)
    with pytest.raises(ValueError, match="cannot be requantized"):
        quantize_input(manager().exported_program(), 0, {**wanted, "dtype": torch.int64})


def test_other_ends_are_refused() -> None:
    edge = to_edge(export(Add(), INPUTS))
    with pytest.raises(ValueError, match="is not quantized per tensor"):
        quantize_input(edge.exported_program(), 0)
    with pytest.raises(PassError, match="QuantizeOutputs raised ValueError: .* is not dequantized"):
        edge.transform([QuantizeOutputs(edge, [0])])
    with pytest.raises(AssertionError, match="arg_type"):
        get_config_method_name("forward", "result", 0, "scale")
