"""`generators/embedding_bags.py`: modes, empty bags, padding, weights and invalid indices."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tests.aot_c.harness import Library, compile_library, compilers
from tests.aot_c.one_call import Call
from tests.aot_c.same_calls import check_calls, program_of
from tests.aot_c.test_sorting import tied
from tests.ops.harness import FLOAT16_TYPES, FLOATS

NAME = "aten::_embedding_bag.out"


def bags(
    weight: torch.Tensor,
    indices: list[int],
    offsets: list[int],
    mode: int,
    last: bool,
    padding: int,
    **options: object,
) -> Call:
    wide = torch.int64 if padding < 0 else torch.int32
    given = torch.tensor(indices, dtype=wide)
    scales = options.get("scales")
    arguments = [weight, given, torch.tensor(offsets, dtype=wide), False, mode, False, scales, last, padding]
    count = len(offsets) - last
    # Of `offset2bag`, the kernel writes only the indices in bags.
    covered = len(indices) if count > 0 and offsets[0] == 0 else 0
    others = [torch.zeros(n, dtype=wide) for n in (covered, count)]
    most_at = torch.zeros((count, weight.shape[1]) if mode == 2 else (count,), dtype=wide)
    return Call(NAME, arguments, [weight.new_empty(count, weight.shape[1]), *others, most_at])


@pytest.mark.parametrize("dtype", [*FLOATS, *FLOAT16_TYPES])
def test_bags(dtype: torch.dtype, tmp_path: Path) -> None:
    torch.manual_seed(0)
    table = torch.randn(6, 5).to(dtype)
    indices = torch.randint(0, 6, (9,)).tolist()
    calls: list[Call] = []
    for weight in (table, table.t().contiguous().t(), tied(dtype, 6, 5)):
        for mode in (0, 1, 2):
            for offsets, last in (([0, 3, 3, 7], False), ([0, 4, 9], True), ([0], True), ([2, 5], False)):
                for padding in (-1, 2):
                    calls.append(bags(weight, indices, offsets, mode, last, padding))
        calls.append(bags(weight, indices, [0, 4], 0, False, -1, scales=torch.randn(9).to(dtype)))
        calls.append(bags(weight, [], [0, 0], 1, False, -1))
    check_calls(calls, tmp_path)


@pytest.mark.parametrize(
    ("indices", "offsets"), [([0, 6], [0]), ([0, -1], [0]), ([0, 1], [0, 3]), ([0, 1], [2, 1])]
)
def test_invalid_bags(indices: list[int], offsets: list[int], tmp_path: Path) -> None:
    call = bags(torch.ones(6, 2), indices, offsets, 0, False, -1)
    text = program_of([call])
    library = Library(compile_library(text, "model", tmp_path, next(iter(compilers()))), text)
    with pytest.raises(RuntimeError, match="returned 1"):
        library("call_0", *call.arguments[:3])
