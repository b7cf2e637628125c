"""The operator `preprocess::tile_crop`, which divides an image into tiles for a vision encoder."""

from __future__ import annotations

import torch
from torch.library import Library

LIBRARY = Library("preprocess", "FRAGMENT")


def tile_crop(input: torch.Tensor, tile_size: int) -> torch.Tensor:
    """Divides an image into square tiles, row by row.

    Args:
        input: [channels, height, width]; height and width are multiples of `tile_size`.
        tile_size: the height and width of a tile in pixels.

    Returns:
        [tiles, channels, tile_size, tile_size].

    Raises:
        RuntimeError: the image has another number of dimensions, or its sizes are not multiples of
            `tile_size`.
    """
    if input.dim() != 3 or tile_size < 1 or any(size % tile_size for size in input.shape[1:]):
        raise RuntimeError(
            "preprocess::tile_crop needs an image [channels, height, width] whose height and width are "
            f"multiples of the tile size; the image is {list(input.shape)} and the tile size {tile_size}"
        )
    channels, height, width = input.shape
    rows, columns = height // tile_size, width // tile_size
    tiles = input.reshape(channels, rows, tile_size, columns, tile_size).permute(1, 3, 0, 2, 4)
    return tiles.reshape(rows * columns, channels, tile_size, tile_size)


if not hasattr(torch.ops.preprocess, "tile_crop"):
    LIBRARY.define("tile_crop(Tensor input, int tile_size) -> Tensor")
    LIBRARY.impl("tile_crop", tile_crop, "CompositeImplicitAutograd")
