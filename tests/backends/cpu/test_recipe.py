"""Every operation of the schema has what CONTRIBUTING.md requires: a step, a lowering and a test."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.backends.cpu.support import Kind, assert_close, expected, kinds, lower, run
from torch import nn
from torch.nn import functional as F

from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.cpu.plan import tables
from rushlight.backends.cpu.plan.tables import (
    Compare,
    Convert,
    CumulativeSum,
    Gather,
    GroupNormStatistics,
    Int8Lookup,
    Int8Mean,
    Int8Pool2d,
    Normalize,
    Quantize,
    Resize2d,
    Take,
    Where,
)
from rushlight.backends.cpu.plan.wire_tables import CPU_PLAN
from rushlight.backends.cpu.quantizer import CpuQuantizer
from rushlight.exir import to_edge_transform_and_lower
from rushlight.quantize.flow import quantize
from rushlight.quantize.specs import static_int8

ROOT = Path(__file__).parents[3]
PYTHON = ROOT / "src" / "rushlight" / "backends" / "cpu"
OPERATIONS = [name for name, _ in CPU_PLAN.unions["Operation"]]


@functools.cache
def calls(folder: Path) -> frozenset[str]:
    """Returns the names that the modules of a folder call."""
    trees = [ast.parse(path.read_text()) for path in folder.rglob("*.py")]
    nodes = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call))
    return frozenset(node.func.id for node in nodes if isinstance(node.func, ast.Name))


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_has_its_parts(name: str) -> None:
    steps = (ROOT / "runtime" / "backends" / "cpu" / "steps").glob("*.cpp")
    made = sum(f"make_step(const schema::{name}& op" in path.read_text() for path in steps)
    assert made == 1, f"no file of runtime/backends/cpu/steps/ makes the step of {name}"
    produced = calls(PYTHON / "lower") | calls(PYTHON / "optimize") | calls(PYTHON)
    assert name in produced, f"neither lower/ nor optimize/ gives a {name}"
    tests = "\n".join(path.read_text() for path in Path(__file__).parent.rglob("test_*.py"))
    assert re.search(rf"\b{name}\b", tests), f"no test in tests/backends/cpu/ names {name}"
    assert getattr(tables, name).__doc__, f"schema/cpu_plan.fbs does not say what {name} does"


INDICES = torch.tensor([[2, 0], [1, 2]])
CASES: dict[str, tuple[Kind, Any, tuple[torch.Tensor, ...]]] = {
    "compare": (Compare, lambda x, y: torch.exp((x > y).float() * x), (torch.randn(3, 4), torch.randn(3, 4))),
    "where": (Where, lambda x: torch.exp(torch.where(x > 0, x, x * 2)), (torch.randn(3, 4),)),
    "normalize": (Normalize, nn.LayerNorm(6), (torch.randn(3, 6),)),
    "group norm": (
        GroupNormStatistics,
        nn.Sequential(nn.Conv2d(3, 8, 3), nn.GroupNorm(2, 8)),
        (torch.randn(2, 3, 8, 8),),
    ),
    "resize": (Resize2d, lambda x: F.interpolate(x * 2, scale_factor=2), (torch.randn(1, 8, 4, 4),)),
    "gather": (Gather, nn.Embedding(3, 4), (INDICES,)),
    "take": (Take, lambda x, i: torch.exp(torch.gather(x, 1, i)), (torch.randn(2, 4), INDICES)),
    "cumulative sum": (CumulativeSum, lambda x: torch.exp(torch.cumsum(x, 1)), (torch.randn(3, 4),)),
}


@pytest.mark.parametrize("name", CASES)
def test_an_operation_equals_eager(name: str) -> None:
    torch.manual_seed(0)
    kind, model, inputs = CASES[name]
    program, _ = lower(model, inputs)
    assert kind in kinds(program)
    assert_close(run(program, inputs), expected(model, inputs))


def test_16_bit_inputs_are_converted() -> None:
    inputs = (torch.randn(3, 4).half(),)
    model: Callable[[torch.Tensor], torch.Tensor] = lambda x: torch.softmax(x * 2, -1)  # noqa: E731
    program, _ = lower(model, inputs)
    assert kinds(program).count(Convert) == 2
    assert_close(run(program, inputs), expected(model, inputs), 2e-3)


class Quantized(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.pool = nn.Conv2d(3, 16, 3), nn.MaxPool2d(2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.hardswish(self.pool(self.conv(x))).mean((2, 3))


def test_operations_over_int8() -> None:
    torch.manual_seed(0)
    inputs = (torch.randn(1, 3, 12, 12),)
    program = quantize(Quantized().eval(), inputs, CpuQuantizer().set_global(static_int8()), [inputs])
    edge = to_edge_transform_and_lower(program, partitioner=[CpuPartitioner()])
    data = edge.to_executorch().buffer
    assert {Quantize, Int8Pool2d, Int8Lookup, Int8Mean} <= set(kinds(data))
    (got,), want = run(data, inputs), program.module()(*inputs)
    assert (got - want).abs().max() < 0.02 * want.abs().max()


def recipe() -> list[tuple[str, str]]:
    """Returns the files and the excerpts of the recipe in CONTRIBUTING.md."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    _, _, section = text.partition("## Add a step to the CPU backend\n")
    section = section.partition("\n## ")[0]
    return re.findall(r"^\d\. `([^`]+)`.*?\n+ *```\w*\n(.*?) *```", section, re.M | re.S)


def test_the_recipe_touches_four_files() -> None:
    assert 3 <= len({path for path, _ in recipe()}) <= 4


@pytest.mark.parametrize(("path", "excerpt"), recipe())
def test_the_recipe_shows_what_is_there(path: str, excerpt: str) -> None:
    text = re.sub(r"\s+", " ", (ROOT / path).read_text())
    for part in excerpt.split("...\n"):
        assert re.sub(r"\s+", " ", part).strip() in text
