"""What networks of several lists need: torchvision, and an image."""

from __future__ import annotations

from types import ModuleType

import torch

from models.digits import digits

_TORCHVISION = torch.library.Library("torchvision", "FRAGMENT")
"""Held for the process: its definitions end with it."""


def import_torchvision() -> ModuleType:
    """torchvision, also where its compiled operators do not match the installed torch.

    timm and transformers import it too: a model of theirs calls this first.
    """
    for name in ("nms", "qnms"):
        if not hasattr(torch.ops.torchvision, name):
            _TORCHVISION.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    import torchvision

    return torchvision


def image(size: int = 224) -> tuple[torch.Tensor]:
    """A digit as an image of `size` x `size` pixels, float32 of shape (1, 3, size, size)."""
    return (digits(size, 1, seed=1)[0],)
