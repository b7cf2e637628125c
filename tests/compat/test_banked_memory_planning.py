"""Banks: the placement of tensors, errors of limits, and programs that use two memories."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
import torch

from rushlight.compat.banked_memory_planning import (
    Bank,
    BankedGreedy,
    BankPlacementError,
    TargetMemoryMap,
    banked_memory_planning_pass,
    format_placement_report,
    planned_mem_ids,
)
from rushlight.compat.shared_objects import SharedObject, pick_shared_obj
from rushlight.exir import ExecutorchBackendConfig, to_edge
from rushlight.ir.errors import InternalError
from rushlight.ir.spec import DeviceType, TensorSpec
from rushlight.memory.algorithms import MemoryAlgoResult, greedy
from rushlight.runtime import Runtime

TWO = TargetMemoryMap([Bank("fast", 256, 1), Bank("slow", 4096, 3)])
EMPTY = torch.fx.GraphModule({}, torch.fx.Graph())


def spec(size: int, first: int, last: int, mem_id: int | None = None) -> TensorSpec:
    made = TensorSpec(torch.uint8, [size])
    made.lifetime, made.mem_id = [first, last], mem_id
    return made


def plan(
    specs: Sequence[TensorSpec], target: TargetMemoryMap = TWO, padding: int = 0, **options: bool
) -> tuple[list[tuple[int, int]], list[int]]:
    result = BankedGreedy(target, **options)(16, specs, EMPTY, None, padding)
    places = [result.spec_dict[found] for found in specs]
    return [(place.mem_id, place.mem_offset) for place in places], result.bufsizes


def overlaps(specs: Sequence[TensorSpec], result: MemoryAlgoResult) -> bool:
    def bytes_of(found: TensorSpec) -> tuple[int, int, int]:
        place = result.spec_dict[found]
        return place.mem_id, place.mem_offset, place.mem_offset + found.allocated_memory

    def steps_of(found: TensorSpec) -> tuple[int, int]:
        first, last = found.lifetime
        assert first is not None and last is not None
        return first, last

    for place, one in enumerate(specs):
        for other in specs[:place]:
            (a, low, high), (b, start, end) = bytes_of(one), bytes_of(other)
            (first, last), (begin, finish) = steps_of(one), steps_of(other)
            if a == b and low < end and start < high and first <= finish and begin <= last:
                return True
    return False


def test_tensors_go_to_the_first_bank_with_room() -> None:
    assert plan([spec(128, 0, 9), spec(128, 0, 9), spec(64, 0, 9), spec(64, 10, 11)]) == (
        [(1, 0), (1, 128), (3, 0), (1, 0)],
        [0, 256, 0, 64],
    )
    reverse = TargetMemoryMap([Bank("slow", 4096, 3), Bank("fast", 256, 1)])
    assert plan([spec(64, 0, 9)], reverse) == ([(3, 0)], [0, 0, 0, 64])


def test_pinned_tensors_are_placed_first() -> None:
    places, sizes = plan([spec(200, 0, 9), spec(64, 0, 9, 1), spec(16, 0, 9, 3), spec(8, 0, 9, 7)])
    assert places == [(3, 16), (1, 0), (3, 0), (7, 0)]  # 200 bytes do not fit after 64 bytes
    assert sizes == [0, 64, 0, 224, 0, 0, 0, 16]
    with pytest.raises(BankPlacementError, match=r"512 bytes.*pinned to bank fast.*256 bytes left"):
        plan([spec(512, 0, 1, 1)])


def test_padding_and_reserved_bytes_count() -> None:
    assert plan([spec(256, 0, 9)], padding=16) == ([(3, 0)], [0, 0, 0, 272])
    graph = torch.fx.GraphModule({}, torch.fx.Graph())
    graph.__dict__["input_mem_buffer_sizes"] = [0, 200]
    one, other = spec(32, 0, 9), spec(32, 0, 9)
    result = BankedGreedy(TWO)(16, [one, other], graph)
    assert [(place.mem_id, place.mem_offset) for place in result.spec_dict.values()] == [(1, 208), (3, 0)]
    assert result.bufsizes == [0, 240, 0, 32]


def test_a_tensor_in_another_one_follows_it() -> None:
    base, inside = spec(512, 0, 9), spec(64, 0, 9)
    inside.storage_base, inside.storage_base_offset = base, 32
    assert plan([inside, base]) == ([(3, 32), (3, 0)], [0, 0, 0, 512])


def test_a_bank_may_align_its_tensors_more() -> None:
    target = TargetMemoryMap([Bank("fast", 96, 1, alignment=64), Bank("slow", 4096, 2)])
    places, sizes = plan([spec(20, 0, 9), spec(20, 0, 9)], target)
    assert (places, sizes) == ([(1, 0), (2, 0)], [0, 64, 32])
    with pytest.raises(BankPlacementError, match="alignment 24, which is not a multiple of 16"):
        plan([], TargetMemoryMap([Bank("fast", 96, 1, alignment=24)]))


def test_what_fits_nowhere_is_refused() -> None:
    with pytest.raises(
        BankPlacementError, match=r"8192 bytes \(shape \[8192\]\).*fast 256 of 256, slow 4096"
    ):
        plan([spec(8192, 0, 1)])
    other = spec(16, 0, 1)
    other.device = DeviceType.CUDA
    with pytest.raises(BankPlacementError, match="tensors on CUDA"):
        plan([other])
    with pytest.raises(ValueError, match="share_mutable_buffers"):
        banked_memory_planning_pass(TWO, share_mutable_buffers=True)


@pytest.mark.parametrize(
    ("banks", "message"),
    [
        ([], "at least one"),
        ([Bank("a", 1, 1), Bank("a", 1, 2)], "the name 'a'"),
        ([Bank("a", 1, 1), Bank("b", 1, 1)], "the mem_id 1"),
        ([Bank("a", 0, 1)], "the size 0"),
        ([Bank("a", 1, 0)], "the mem_id 0"),
        ([Bank("a", 1, 1, 0)], "the alignment 0"),
    ],
)
def test_maps_are_checked(banks: list[Bank], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TargetMemoryMap(banks)


def test_banks_are_found_by_name_and_number() -> None:
    assert (TWO.mem_id("slow"), TWO.bank(1).name, TWO.mem_ids(), TWO.manages(2)) == (3, "fast", [1, 3], False)
    with pytest.raises(ValueError, match="no bank has the name 'x'"):
        TWO.mem_id("x")
    with pytest.raises(ValueError, match="no bank has the mem_id 2"):
        TWO.bank(2)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("overlapping", [True, False])
def test_random_plans_are_right_and_one_bank_is_greedy(seed: int, overlapping: bool) -> None:
    chosen = random.Random(seed)
    starts = [chosen.randrange(40) for _ in range(60)]
    shapes = [(chosen.randrange(1, 999), start, start + chosen.randrange(9)) for start in starts]
    one = TargetMemoryMap([Bank("all", 1 << 20, 1)])
    specs, others = [spec(*shape) for shape in shapes], [spec(*shape) for shape in shapes]
    banked = BankedGreedy(one, overlapping)(16, specs, EMPTY)
    expected = greedy(16, others, EMPTY, None, allow_overlapping_allocations=overlapping)
    assert banked.bufsizes == expected.bufsizes
    assert [banked.spec_dict[s] for s in specs] == [expected.spec_dict[s] for s in others]
    three = TargetMemoryMap([Bank("a", 1000, 1), Bank("b", 3000, 2, alignment=64), Bank("c", 1 << 20, 3)])
    result = BankedGreedy(three, overlapping)(16, specs, EMPTY)
    assert result.bufsizes[1] <= 1000 and result.bufsizes[2] <= 3000 < sum(result.bufsizes)
    assert not overlaps(specs, result)


def test_a_program_runs_from_two_memories() -> None:
    class Net(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = torch.sin(x)
            return torch.cumsum(torch.exp(y) * torch.cos(x) + y, dim=0)

    x = torch.randn(4, 64)
    target = TargetMemoryMap([Bank("fast", 2048, 1), Bank("slow", 1 << 16, 2)])
    config = ExecutorchBackendConfig(memory_planning_pass=banked_memory_planning_pass(target))
    program = to_edge(torch.export.export(Net(), (x,))).to_executorch(config)
    sizes = list(program.executorch_program.execution_plan[0].non_const_buffer_sizes)
    assert sizes[1] == 2048 and 0 < sizes[2] <= 1 << 16
    (result,) = Runtime.get().load_program(program.buffer).load_method("forward").execute([x])
    torch.testing.assert_close(result, Net()(x))
    places = planned_mem_ids(program.exported_program().graph_module)
    assert set(places) == {1, 2}
    report = format_placement_report(target, sizes, places)
    assert [line.split()[:5] for line in report.splitlines()[2:]] == [
        ["fast", "1", "2048", "2048", "100.0%"],
        ["slow", "2", str(sizes[2]), "65536", f"{100 * sizes[2] / 65536:.1f}%"],
    ]


def test_shared_objects_are_picked_by_lifetime_and_room() -> None:
    objects: list[SharedObject] = []
    picked = [pick_shared_obj(objects, spec(*shape)) for shape in [(64, 4, 6), (32, 1, 2), (32, 2, 5)]]
    assert [found.idx for found in picked] == [0, 0, 1]  # the third one does not fit after the first one
    assert [(a.offset, a.spec.allocated_memory) for a in objects[0].allocations] == [(0, 64), (0, 32)]
    assert (objects[0].first_used_index, objects[0].last_used_index) == (1, 6)
    behind = pick_shared_obj(objects, spec(16, 1, 2))
    assert (behind.idx, behind.allocations[-1].offset) == (0, 32)
    assert pick_shared_obj(objects, spec(16, 1, 5), allow_overlapping_allocations=False).idx == 2
    with pytest.raises(InternalError, match="after smaller tensors"):
        pick_shared_obj(objects, spec(512, 8, 9))
