"""The division of images into tiles, in eager PyTorch and in a program."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.export import Dim, export

from rushlight.exir import to_edge_transform_and_lower
from rushlight.ir import image_ops  # noqa: F401  (defines the operator)
from rushlight.runtime import load

preprocess: Any = torch.ops.preprocess


class Tiles(torch.nn.Module):
    def forward(self, image: torch.Tensor) -> Any:
        return preprocess.tile_crop(image, 4)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 2), (1, 3), (4, 2)])
def test_tiles(rows: int, columns: int) -> None:
    image = torch.randn(3, 4 * rows, 4 * columns)
    tiles = preprocess.tile_crop(image, 4)
    assert tiles.shape == (rows * columns, 3, 4, 4)
    for row in range(rows):
        for column in range(columns):
            part = image[:, 4 * row : 4 * row + 4, 4 * column : 4 * column + 4]
            assert torch.equal(tiles[row * columns + column], part)


@pytest.mark.parametrize("shape", [(3, 8, 6), (8, 8), (1, 3, 8, 8)])
def test_wrong_images(shape: tuple[int, ...]) -> None:
    with pytest.raises(RuntimeError, match=r"of the tile size; the image is \[.*\] and the tile size 4"):
        preprocess.tile_crop(torch.ones(shape), 4)


def test_a_program_for_images_of_any_height() -> None:
    rows = Dim("rows", min=1, max=4)
    exported = export(Tiles(), (torch.randn(3, 8, 12),), dynamic_shapes=({1: 4 * rows},))
    module = load(to_edge_transform_and_lower(exported).to_executorch().buffer)
    for height in (4, 16):
        image = torch.randn(3, height, 12)
        tiles = module(image)
        assert torch.equal(tiles, preprocess.tile_crop(image, 4))
