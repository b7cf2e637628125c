"""Pictures of handwritten digits, with separate parts for training, calibration and tests."""

from __future__ import annotations

import torch
from torch import nn

FIT, CALIBRATION, HELD_OUT, TRAIN = 2, 3, 4, 5
"""Seeds that select data: for statistics and ranges of activations, for tests, and for training."""

COPIES = 4
"""How often the digit is repeated along each side of a picture for a trained network."""


def digits(size: int, count: int, seed: int, copies: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns pictures of scikit-learn's handwritten digits in random order, and their labels.

    The seeds TRAIN (which includes FIT), CALIBRATION and others select from disjoint parts of the data.

    Args:
        size: the height and width of a picture in pixels.
        count: the number of pictures.
        seed: selects the part of the data and the order.
        copies: each picture contains the digit copies x copies times.

    Returns:
        Pictures float32 [count, 3, size, size], and labels int64 [count].
    """
    from sklearn.datasets import load_digits

    data = load_digits()
    order = torch.randperm(len(data.target), generator=torch.Generator().manual_seed(0))
    start, end = {FIT: (0, 256), TRAIN: (0, 1200), CALIBRATION: (1200, 1400)}.get(seed, (1400, len(order)))
    order = order[start:end]
    chosen = order[torch.randperm(len(order), generator=torch.Generator().manual_seed(seed))[:count]]
    images = torch.as_tensor(data.images, dtype=torch.float32)[chosen, None] / 8 - 1
    side = size // copies
    large = nn.functional.interpolate(images, (side, side), mode="bilinear")
    return large.repeat(1, 3, copies, copies), torch.as_tensor(data.target)[chosen]
