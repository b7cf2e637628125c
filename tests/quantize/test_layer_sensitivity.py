"""Sensitivity analysis, and programs with mixed precision that use it."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
import torch

from rushlight.backends.cpu.quantizer import CpuQuantizer
from rushlight.quantize import (
    ExcludeFromQuantization,
    QuantizationError,
    compare,
    export_float,
    hybrid,
    quantize,
    sensitivity,
    static_int8,
    weight_only_int4,
)

qd = torch.ops.quantized_decomposed


class Chain(torch.nn.Module):
    """Four layers. The third has one weight and one input channel that are much larger than the others."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(16, 16) for _ in range(4)])
        with torch.no_grad():
            self.layers[1].weight[0] *= 300  # type: ignore[index, operator]
            self.layers[2].weight[:, 0] /= 300  # type: ignore[index, operator]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x


@pytest.fixture(scope="module")
def chain() -> tuple[Any, list[tuple[torch.Tensor, ...]]]:
    torch.manual_seed(0)
    model = Chain().eval()
    data = [(torch.randn(8, 16),) for _ in range(4)]
    return export_float(model, data[0]), data  # type: ignore[return-value]


def quantizer() -> CpuQuantizer:
    return CpuQuantizer().set_global(static_int8())


def test_layers_are_ranked_by_the_error_that_each_causes(chain: Any) -> None:
    program, data = chain
    found = sensitivity(program, None, quantizer(), data)
    assert [row.operator for row in found.layers] == ["linear"] * 4
    # Layer 1 has the wide output, and layer 2 reads it.
    assert {row.name for row in found.layers[:2]} == {"layers.1.linear_1", "layers.2.linear_2"}
    errors = [row.result.snr_db for row in found.layers]
    assert errors == sorted(errors)
    assert errors[1] + 6 < errors[2]
    assert all(row.weights == 16 * 16 + 16 for row in found.layers)
    assert found.items == 4 and found.whole.snr_db < min(errors) + 0.5


def test_one_layers_error_is_that_of_a_program_with_the_others_in_float(chain: Any) -> None:
    program, data = chain
    found = sensitivity(program, None, quantizer(), data)
    for row in found.layers[2:]:
        others = [other.name for other in found.layers if other is not row]
        alone = quantize(program, None, ExcludeFromQuantization(quantizer(), others), data)
        (end,) = compare(program, alone, data).results
        assert end.difference.snr_db == pytest.approx(row.result.snr_db, abs=0.5)


def test_table_plot_and_data_tell_the_same(chain: Any) -> None:
    program, data = chain
    found = sensitivity(program, None, quantizer(), data, items=2)
    facts = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert [row["layer"] for row in facts["layers"]] == [row.name for row in found.layers]
    assert facts["items"] == 2
    svg, text = found.svg(), found.text()
    assert svg.count("<rect") == 2 + 2 * 4 and all(row.name in svg for row in found.layers)
    ranked = [line.split()[1] for line in text.splitlines()[2:6]]
    assert ranked == [row.name for row in found.layers]
    assert "#" * 24 in text and text.splitlines()[2].endswith("#" * 24)
    assert found.svg() in found.html()


def test_weights_alone_are_ranked_too(chain: Any) -> None:
    program, data = chain
    found = sensitivity(program, None, CpuQuantizer().set_global(weight_only_int4(group_size=16)), data)
    assert len(found.layers) == 4
    assert all(5 < row.own.snr_db < math.inf for row in found.layers)


def test_a_hybrid_leaves_just_enough(chain: Any) -> None:
    program, data = chain
    found = sensitivity(program, None, quantizer(), data)
    whole = hybrid(program, None, quantizer(), data, min_snr_db=found.whole.snr_db - 1, found=found)
    assert whole.left == []
    goal = found.whole.snr_db + 3
    made = hybrid(program, None, quantizer(), data, min_snr_db=goal, found=found)
    assert made.left == found.worst(len(made.left)) and 0 < len(made.left) < 4
    assert made.difference.snr_db >= goal
    fewer = quantize(program, None, ExcludeFromQuantization(quantizer(), made.left[:-1]), data)
    (end,) = compare(program, fewer, data).results
    assert end.difference.snr_db < goal
    weights = sum(node.target is qd.dequantize_per_channel.default for node in made.program.graph.nodes)
    assert weights == 4 - len(made.left)


def test_bad_input(chain: Any) -> None:
    program, data = chain
    with pytest.raises(QuantizationError, match="sensitivity: no data was given"):
        sensitivity(program, None, quantizer(), [])
    with pytest.raises(QuantizationError, match=r"all layers but .* dB above their error, not 200"):
        hybrid(program, None, quantizer(), data, min_snr_db=200)


class Recurrent(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cells = torch.nn.LSTM(8, 16, num_layers=2)
        self.head = torch.nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        states, (_, cell) = self.cells(x)
        return self.head(states[-1]) + cell.sum()


def test_recurrent_layers_are_measured_as_a_whole() -> None:
    torch.manual_seed(1)
    data = [(torch.randn(5, 2, 8),) for _ in range(3)]
    program = export_float(Recurrent().eval(), data[0])  # type: ignore[arg-type]
    found = sensitivity(program, None, CpuQuantizer().set_global(weight_only_int4()), data)
    rows = {row.operator: row for row in found.layers}
    assert sorted(rows) == ["linear", "lstm"]
    lstm = rows["lstm"]
    assert lstm.name == "cells.lstm" and lstm.how.startswith("weights int4")
    assert lstm.weights == sum(p.numel() for p in torch.nn.LSTM(8, 16, num_layers=2).parameters())
    assert 5 < lstm.own.snr_db < 60 and 5 < lstm.result.snr_db < 60
    # The state h and the cell c of both layers have errors only if the LSTM is quantized.
    float_cells = ExcludeFromQuantization(
        CpuQuantizer().set_global(weight_only_int4()), layers=["cells.lstm"]
    )
    for chosen, is_exact in ((CpuQuantizer().set_global(weight_only_int4()), False), (float_cells, True)):
        report = compare(program, quantize(program, None, chosen, data), data)
        states = [row for row in report.layers if row.operator == "lstm"]
        assert len(states) == 3
        for row in states:
            assert row.how == "float" if is_exact else row.how.startswith("weights int4")
            assert math.isinf(row.accumulated.snr_db) == is_exact
