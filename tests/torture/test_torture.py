"""A fixed set of random modules agrees with eager PyTorch in every configuration."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tests.torture.case import from_json, source, to_json
from tests.torture.configurations import configurations_of
from tests.torture.generate import KINDS, generate
from tests.torture.judge import problem
from tests.torture.reference import Disturbed

ROOT = Path(__file__).parents[2]
SEED = 20
CASES = 30  # of each part


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.long) for part in (1, 2, 3))])
def test_random_modules_agree_with_eager(part: int, tmp_path: Path) -> None:
    """Each part runs in a process that starts no thread before it forks. A failure prints its command."""
    options = f"--seed {SEED} --start {part * CASES} --cases {CASES} --workers 1 --minimise 0"
    done = subprocess.run(
        [sys.executable, "-m", "tests.torture", *options.split(), "--output", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{done.stdout[-8000:]}\n{done.stderr[-2000:]}"
    results = (tmp_path / f"results-{SEED}.jsonl").read_text().splitlines()
    assert len(results) == CASES
    skipped = sum('"skipped": ""' not in line for line in results)
    assert skipped <= CASES // 4, f"torch itself takes only {CASES - skipped} of {CASES} cases"


def test_a_case_depends_on_seed_and_index_alone() -> None:
    for index in range(20):
        first = generate(3, index)
        assert source(first) == source(generate(3, index))
        assert source(from_json(to_json(first))) == source(first)
    assert len({source(generate(3, index)) for index in range(20)}) == 20


def test_every_kind_and_configuration_is_drawn() -> None:
    cases = [generate(SEED, index) for index in range(4 * CASES)]
    drawn = {case.kind.split(",")[0] for case in cases}
    assert drawn == set(KINDS)
    configurations = {name for case in cases for name in configurations_of(case.quantizer)}
    assert configurations == {"kernels", "default", "high", "xnnpack"}
    assert any(case.dims for case in cases) and any(case.state for case in cases)


def test_the_judge_sees_wrong_results() -> None:
    want = torch.arange(6.0).reshape(2, 3)
    assert not problem([want.clone()], [want], None, 0, "kernels")
    wrong = want.clone()
    wrong[1, 2] += 0.01
    assert "1 of 6 values differ" in problem([wrong], [want], None, 0, "kernels")
    assert "shape" in problem([want.t()], [want], None, 0, "kernels")
    assert "dtype" in problem([want.double()], [want], None, 0, "kernels")
    assert "1 outputs instead of 2" in problem([want], [want, want], None, 0, "kernels")
    infinite = want.clone()
    infinite[0, 0] = torch.inf
    assert problem([want], [infinite], None, 0, "kernels")
    assert problem([torch.full_like(want, torch.nan)], [want], None, 0, "kernels")


def test_noise_reaches_the_parts_of_normalizations() -> None:
    x = torch.rand(6, 3, dtype=torch.float64)
    norm = torch.nn.GroupNorm(3, 3).double()
    with torch.no_grad(), Disturbed():
        exact = norm(x)
    with torch.no_grad(), Disturbed(2.0**-22):
        moved = norm(x)
    assert exact.abs().max() < 1e-12 < 1e-6 < moved.abs().max() < 1e-2
