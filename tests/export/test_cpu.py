"""Recipes for the CPU backend."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.backends.cpu.support import PRECISIONS, kinds
from torch import nn

from rushlight.backends.cpu.plan.tables import BlockGemm, Gemm
from rushlight.export import ExportRecipe, export
from rushlight.export.cpu import CpuRecipeType

MODEL, INPUTS = nn.Linear(200, 600), (torch.randn(100, 200),)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_recipe_hands_its_options_to_the_partitioner(precision: str) -> None:
    recipe = ExportRecipe.get_recipe(CpuRecipeType.FP32, target="avx2", float32_matmul_precision=precision)
    session = export(MODEL, [INPUTS], export_recipe=recipe)
    has_blocks = BlockGemm in kinds(session.get_pte_buffer())
    assert has_blocks == (precision == "high")


def test_full_float32_is_the_default() -> None:
    recipe = ExportRecipe.get_recipe(CpuRecipeType.FP32, target="avx2")
    assert kinds(export(MODEL, [INPUTS], export_recipe=recipe).get_pte_buffer()) == [Gemm]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"float32_matmul_precision": "medium"}, "is 'highest' or 'high', not 'medium'"),
        (
            {"exact": True},
            "cpu_fp32 has the options target, .*, weights, not exact",
        ),
    ],
)
def test_other_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ExportRecipe.get_recipe(CpuRecipeType.FP32, **options)
