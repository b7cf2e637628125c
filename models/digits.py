"""Pictures of handwritten digits, a part of them for each use."""

from __future__ import annotations

import torch
from torch import nn

FIT, CALIBRATION, HELD_OUT, TRAIN = 2, 3, 4, 5
"""Seeds of the data that statistics and ranges of activations come from, that results are judged on, and that
networks are trained on."""

COPIES = 4
"""How often a digit stands along each side of a picture that a trained network is given."""


def digits(size: int, count: int, seed: int, copies: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    """Pictures [count, 3, size, size] of scikit-learn's handwritten digits in random order, and their labels.

    Each shows a digit copies x copies times. The seeds TRAIN (of which FIT is a part), CALIBRATION and others
    draw from parts of the data that have no picture in common.
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
