"""Planning algorithms over specs, in the form in which users of ExecuTorch call them."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
from torch.fx import Graph, GraphModule

from rushlight.ir.spec import TensorSpec
from rushlight.memory.algorithms import (
    MemoryAlgoResult,
    MemoryPlanningAlgorithmSuite,
    greedy,
    naive,
    name_of,
)
from rushlight.memory.problem import PlanError

GRAPH = GraphModule({}, Graph())


def spec_of(elements: int, first: int, last: int) -> TensorSpec:
    spec = TensorSpec(torch.float32, [elements])
    spec.lifetime = [first, last]
    return spec


def offsets(result: MemoryAlgoResult, specs: list[TensorSpec]) -> list[int]:
    return [result.spec_dict[spec].mem_offset for spec in specs]


def test_greedy_shares_bytes_and_naive_does_not() -> None:
    specs = [spec_of(8, 0, 1), spec_of(4, 1, 2), spec_of(8, 2, 3)]
    shared, apart = (algorithm(16, specs, GRAPH, None) for algorithm in (greedy, naive))
    assert (offsets(shared, specs), shared.bufsizes) == ([0, 32, 0], [0, 48])
    assert (offsets(apart, specs), apart.bufsizes) == ([0, 32, 48], [0, 80])
    assert all(spec.mem_offset is None for spec in specs)  # only the result contains the offsets


def test_without_overlaps_tensors_that_share_begin_together() -> None:
    specs = [spec_of(16, 0, 0), spec_of(8, 1, 1), spec_of(8, 1, 1)]
    apart = partial(greedy, allow_overlapping_allocations=False)
    assert offsets(greedy(16, specs, GRAPH, None), specs) == [0, 0, 32]
    assert offsets(apart(16, specs, GRAPH, None), specs) == [0, 0, 64]


def test_padding_is_added_to_each_memory() -> None:
    specs = [spec_of(4, 0, 0), spec_of(4, 0, 0)]
    specs[1].mem_id = 2
    assert greedy(16, specs, GRAPH, None, 5).bufsizes == [0, 21, 21]


def test_a_spec_without_lifetime_is_refused() -> None:
    with pytest.raises(PlanError, match="has no lifetime"):
        greedy(16, [TensorSpec(torch.float32, [4])], GRAPH, None)


def test_a_part_of_a_tensor_lies_within_it() -> None:
    whole, part = spec_of(8, 0, 1), spec_of(4, 0, 1)
    part.storage_base, part.storage_base_offset = whole, 16
    result = greedy(16, [spec_of(4, 0, 1), whole, part], GRAPH, None)
    assert result.spec_dict[part].mem_offset == result.spec_dict[whole].mem_offset + 16
    with pytest.raises(PlanError, match="which is not planned"):
        greedy(16, [part], GRAPH, None)


def test_a_suite_writes_the_smallest_result_into_the_specs() -> None:
    specs = [spec_of(8, 0, 1), spec_of(8, 2, 3)]
    assert MemoryPlanningAlgorithmSuite([naive, greedy])(16, specs, GRAPH, None) == [0, 32]
    assert [spec.mem_offset for spec in specs] == [0, 0]


def test_a_suite_compares_the_same_memories() -> None:
    def more(*args: Any) -> MemoryAlgoResult:
        return MemoryAlgoResult({}, [0, 1, 1])

    with pytest.raises(PlanError, match="the algorithms greedy, more plan different memories"):
        MemoryPlanningAlgorithmSuite([greedy, more])(16, [spec_of(4, 0, 0)], GRAPH, None)


def test_messages_name_what_a_partial_function_calls() -> None:
    assert name_of(partial(partial(greedy, allow_overlapping_allocations=False))) == "greedy"
