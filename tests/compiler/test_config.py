"""The compiler reads each field of a configuration, so that the field has an effect or causes an error."""

from __future__ import annotations

import ast
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import torch

from rushlight.compiler import config
from rushlight.compiler.config import CaptureConfig, EdgeCompileConfig, ExecutorchBackendConfig
from rushlight.compiler.edge import to_edge
from rushlight.export.recipe import ExportRecipe
from rushlight.export.recipe_parts import AOQuantizationConfig, LoweringRecipe, QuantizationRecipe

EXPORT = Path(config.__file__).parents[1] / "export"


def recording(kind: type[Any], reads: set[str], **options: Any) -> Any:
    """Returns an instance of a configuration that records the fields that are read."""

    class Recording(kind):  # type: ignore[misc]
        def __getattribute__(self, name: str) -> Any:
            reads.add(name)
            return super().__getattribute__(name)

    made = Recording(**options)
    reads.clear()
    return made


def names(kind: type[Any]) -> set[str]:
    return {field.name for field in fields(kind)}


def test_each_field_is_read_at_a_compile() -> None:
    edge_reads: set[str] = set()
    backend_reads: set[str] = set()
    program = torch.export.export(torch.nn.ReLU(), (torch.randn(2),))
    edge = to_edge(program, compile_config=recording(EdgeCompileConfig, edge_reads))
    # If `optimize` is True, the fields of single optimizations are not read.
    _ = edge.to_executorch(recording(ExecutorchBackendConfig, backend_reads, optimize=False)).buffer
    assert names(EdgeCompileConfig) <= edge_reads
    assert names(ExecutorchBackendConfig) <= backend_reads


def test_each_field_of_a_capture_is_read() -> None:
    reads: set[str] = set()
    recording(CaptureConfig, reads).check(None)
    assert names(CaptureConfig) <= reads


@pytest.mark.parametrize("kind", [ExportRecipe, LoweringRecipe, QuantizationRecipe, AOQuantizationConfig])
def test_each_field_of_a_recipe_is_read(kind: type[Any]) -> None:
    read = {
        node.attr
        for path in EXPORT.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    }
    assert names(kind) <= read


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("pt2_mode", False),
        ("enable_functionalization", False),
        ("enable_dynamic_shape", True),
        ("enable_aot", False),
        ("_dynamo_config", object()),
        ("_unlift", True),
        ("_use_old_decomp_table", True),
    ],
)
def test_what_a_capture_cannot_follow_is_refused(field: str, value: Any) -> None:
    with pytest.raises(ValueError, match=field):
        CaptureConfig(**{field: value}).check(None)
    CaptureConfig(enable_dynamic_shape=True).check({"x": None})
