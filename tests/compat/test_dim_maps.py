"""Maps of dimensions: the moves that they allow do not change results of tensors."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from rushlight.compat.transforms.dim_maps import (
    PermuteMap,
    ViewMap,
    inverse_permutation,
    keeps_memory_order,
    normalize_view_shape,
    numel,
    same_numel,
)
from rushlight.ir.edge_ops import ops

VIEWS = [
    ([4, 3, 10], [2, 2, 1, 5, 6]),
    ([2, 3, 4], [6, 4]),
    ([6, 4], [2, 3, 4]),
    ([2, 1, 3], [2, 3]),
    ([2, 3], [1, 2, 1, 3, 1]),
    ([1, 1, 4], [4, 1]),
    ([2, 6], [4, 3]),
    ([2, 3], [2, 3]),
]


def tensor(shape: list[int]) -> torch.Tensor:
    return torch.arange(float(numel(shape))).reshape(shape)


def subsets(rank: int) -> list[list[int]]:
    return [list(dims) for count in range(1, rank + 1) for dims in itertools.combinations(range(rank), count)]


@pytest.mark.parametrize("source,target", VIEWS)
def test_reductions_commute_with_views(source: list[int], target: list[int]) -> None:
    mapping, x = ViewMap.from_shapes(source, target), tensor(source)
    found = 0
    for dims in subsets(len(source)):
        mapped = mapping.map_dim(dims)
        if mapped is not None and all(source[dim] > 1 for dim in dims):
            found += 1
            torch.testing.assert_close(x.sum(dims).flatten(), x.reshape(target).sum(mapped).flatten())
    for dims in subsets(len(target)):
        mapped = mapping.map_dim_inverse(dims)
        if mapped is not None:
            torch.testing.assert_close(x.sum(mapped).flatten(), x.reshape(target).sum(dims).flatten())
        swapped = mapping.map_reduction_before_view(dims)
        if swapped is not None:
            inner, shape = swapped
            after = x.reshape(target).sum(dims, keepdim=True)
            torch.testing.assert_close(x.sum(inner, keepdim=True).reshape(shape), after)
    assert found


@pytest.mark.parametrize("source,target", VIEWS)
def test_permutations_commute_with_views(source: list[int], target: list[int]) -> None:
    mapping, x = ViewMap.from_shapes(source, target), tensor(source)
    for order in itertools.permutations(range(len(source))):
        mapped = mapping.map_permutation(order)
        if mapped is not None:
            expected = x.reshape(target).permute(mapped)
            torch.testing.assert_close(x.permute(order).reshape(expected.shape), expected)
    for order in itertools.permutations(range(len(target))):
        mapped = mapping.map_permutation_inverse(order)
        if mapped is not None:
            expected = x.reshape(target).permute(order)
            torch.testing.assert_close(x.permute(mapped).reshape(expected.shape), expected)
    assert mapping.map_permutation(range(len(source))) == list(range(len(target)))


def test_only_whole_runs_are_mapped() -> None:
    mapping = ViewMap.from_shapes([4, 3, 10], [2, 2, 1, 5, 6])
    assert mapping.map_dim(0) == [0, 1]
    assert mapping.map_dim([1, 2]) == [3, 4]
    assert mapping.map_dim(1) is None
    assert mapping.map_dim_inverse([0, 1]) == [0]
    assert mapping.map_dim_inverse(2) is None
    assert mapping.map_dim(7) is None
    assert mapping.map_permutation([1, 2, 0]) == [2, 3, 4, 0, 1]
    assert mapping.map_permutation([2, 1, 0]) is None
    assert mapping.map_permutation([0, 2, 1]) is None
    assert mapping.map_permutation([0, 0, 1]) is None


def test_views_of_other_tensors() -> None:
    mapping = ViewMap.from_shapes([2, 3, 4], [6, 4])
    assert mapping.remap_target_shape([5, 3, 4]) == [15, 4]
    assert mapping.remap_target_shape([2, 3, 1]) == [6, 1]
    assert mapping.remap_target_shape([2, 3]) is None
    assert ViewMap.from_shapes([6, 4], [2, 3, 4]).remap_target_shape([12, 4]) is None
    assert ViewMap.from_shapes([2, 1, 4], [2, 4]).remap_target_shape([2, 3, 4]) is None
    assert ViewMap.from_shapes([2, 6], [3, 5]).remap_target_shape([2, 6]) is None


def test_a_slice_of_one_index_is_taken_from_the_next_dimension() -> None:
    x = tensor([2, 5, 3])
    found = ViewMap.from_shapes([2, 1, 3], [2, 3]).remap_unit_slice([2, 5, 3], 1, 2, 3)
    assert found == ([2, 15], 1, 6, 9)
    torch.testing.assert_close(x[:, 2:3].reshape(2, 3), x.reshape(2, 15)[:, 6:9])
    # The dimensions around the slice are merged, so that its elements are not adjacent.
    assert ViewMap.from_shapes([2, 1, 3], [6]).remap_unit_slice([2, 5, 3], 1, 2, 3) is None
    assert ViewMap.from_shapes([2, 1, 3], [2, 3]).remap_unit_slice([2, 5, 3], 1, 2, 4) is None
    assert ViewMap.from_shapes([2, 1, 3], [2, 3]).remap_unit_slice([2, 5, 3], 1, 2, 3, 2) is None


def test_a_view_that_mixes_all_elements_is_one_run() -> None:
    mapping = ViewMap.from_shapes([2, 6], [4, 3])
    assert mapping.is_valid_map
    assert mapping.map_dim(0) is None
    assert mapping.map_dim([0, 1]) == [0, 1]
    assert not ViewMap.from_shapes([2, 6], [5, 3]).is_valid_map
    assert not ViewMap.from_shapes([0, 6], [0, 3]).is_valid_map
    with pytest.raises(ValueError, match="have no common runs"):
        ViewMap.from_shapes([2, 6], [5, 3]).map_dim(0)


def test_symbolic_sizes() -> None:
    environment = ShapeEnv()
    rows, columns = (environment.create_unbacked_symint() for _ in range(2))
    for size in (rows, columns):
        torch._check(size >= 2)
    kept = ViewMap.from_shapes([rows, 4, columns], [rows, 2, 2, columns])
    assert kept.map_dim(1) == [1, 2]
    assert kept.map_permutation([2, 0, 1]) == [3, 0, 1, 2]
    joined = ViewMap.from_shapes([rows, 4, columns], [-1, columns])
    assert joined.map_dim([0, 1]) == [0] and joined.map_dim(2) == [1]
    assert same_numel([rows, 4], [4 * rows]) and not same_numel([rows], [columns])


def test_shapes_of_views() -> None:
    assert normalize_view_shape([2, 3, 4], [-1, 4]) == [6, 4]
    assert normalize_view_shape([2, 3], [3, 2]) == [3, 2]
    with pytest.raises(ValueError, match="2 sizes of -1"):
        normalize_view_shape([2, 3], [-1, -1])


def test_permutes() -> None:
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    permute = graph.call_function(ops.edge.aten.permute_copy.default, (x, [0, -1, 1, 2]))
    mapping = PermuteMap(permute)
    assert mapping.map_dims([1, -1]) == [2, 1]
    assert mapping.map_dims_inverse(1) == [3]
    with pytest.raises(ValueError, match="out of range for a tensor with 4"):
        mapping.map_dims(4)
    with pytest.raises(ValueError, match="is not a permutation"):
        PermuteMap(graph.call_function(ops.edge.aten.permute_copy.default, (x, [0, 0])))
    with pytest.raises(ValueError, match="is not a view"):
        ViewMap(permute)
    assert inverse_permutation([2, 0, 1]) == [1, 2, 0]
    assert keeps_memory_order([1, 3, 4], [1, 0, 2]) and not keeps_memory_order([2, 3], [1, 0])
