"""The table of decompositions, and the operators that can be preserved."""

from __future__ import annotations

import pytest
import torch
import torch.ao.quantization.fx._decomposed

from rushlight.compat.decompositions import default_decomposition_table, keepable_operators

aten = torch.ops.aten


def test_the_table() -> None:
    table = default_decomposition_table()
    assert aten.linalg_vector_norm.default in table and aten.silu.default in table
    assert not any(getattr(op, "namespace", "") == "quantized_decomposed" for op in table)
    assert aten.arange.start in default_decomposition_table(True)
    assert aten.silu.default not in default_decomposition_table(True)


@pytest.mark.parametrize(
    ("op", "reason"),
    [
        (aten.split.Tensor, "aliases"),
        (aten.view.default, "aliases"),
        (aten.add_.Tensor, "writes"),
        (aten._to_copy.default, "replace it"),
    ],
)
def test_operators_that_cannot_be_kept(
    op: torch._ops.OpOverload, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert keepable_operators([op, aten.linear.default]) == [aten.linear.default]
    (record,) = caplog.records
    assert str(op) in record.getMessage() and reason in record.getMessage()
