"""Functions for several lists of networks: the import of torchvision, and an image."""

from __future__ import annotations

from types import ModuleType

import torch

from models.digits import digits

_TORCHVISION = torch.library.Library("torchvision", "FRAGMENT")
"""The library is kept, because its operators are unregistered when it is freed."""


def import_torchvision() -> ModuleType:
    """Imports torchvision, even if its compiled operators do not match the installed torch.

    timm and transformers import it too. Code for their models must call this function first.
    """
    for name in ("nms", "qnms"):
        if not hasattr(torch.ops.torchvision, name):
            _TORCHVISION.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    import torchvision

    return torchvision


def image(size: int = 224) -> tuple[torch.Tensor]:
    """Returns an image of a digit, float32 of shape (1, 3, size, size)."""
    return (digits(size, 1, seed=1)[0],)
