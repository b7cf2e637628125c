"""A small convolutional network for scikit-learn's images of digits (8 x 8 pixels), and its training."""

from __future__ import annotations

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn


class DigitsNet(nn.Module):
    """A digits classifier: images [batch, 1, 8, 8] float32 in [0, 1] to logits [batch, 10]."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1, bias=False),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(32, 32, 3, padding=1, bias=False),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Linear(32 * 2 * 2, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.classifier(torch.flatten(self.features(images), 1))


def digits(held_out: int = 360, fold: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Returns images and labels for training, and images and labels for tests.

    Images are [n, 1, 8, 8] float32 in [0, 1]. Each of the 1797 images is a test image in one of the folds
    0 to 4.

    Args:
        held_out: the number of test images.
        fold: the fold of the cross-validation.
    """
    data = load_digits()
    order = np.random.default_rng(0).permutation(len(data.target))
    images = (data.images[order, None] / 16).astype(np.float32)
    labels = data.target[order].astype(np.int64)
    held = np.arange(len(labels)) // held_out == fold
    return images[~held], labels[~held], images[held], labels[held]


def train(images: np.ndarray, labels: np.ndarray, epochs: int = 8) -> DigitsNet:
    torch.manual_seed(0)
    net = DigitsNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    x, y = torch.from_numpy(images), torch.from_numpy(labels)
    for _ in range(epochs):
        for batch in torch.randperm(len(x)).split(64):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x[batch]), y[batch]).backward()
            optimizer.step()
    return net.eval()
