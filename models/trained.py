"""Networks that classify digits, for int8 measurements.

With random weights, rounding often changes the index of the largest output. These networks are trained on
small pictures first, and then on some pictures of the measured size. A large picture contains the digit
several times, so that the strokes have the same width as in small pictures. The weights are stored in
build/networks; the name of the file depends on the recipe.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from models.digits import COPIES, TRAIN, digits

FOLDER = Path(__file__).parents[1] / "build" / "networks"


@dataclass(frozen=True)
class Phase:
    """Training on `images` pictures of size x size pixels in batches. The learning rate rises, then falls.

    A picture contains a digit copies x copies times.
    """

    size: int
    copies: int
    images: int
    batch: int
    rate: float


@dataclass(frozen=True)
class Recipe:
    phases: tuple[Phase, ...]
    statistics: int = 64  # pictures for the final statistics of batch norms
    seed: int = 0


RECIPES = {
    "mobilenet_v2": Recipe((Phase(56, 1, 4800, 16, 2e-3), Phase(224, COPIES, 128, 16, 3e-4))),
    "resnet50": Recipe((Phase(56, 1, 2400, 16, 1e-3), Phase(224, COPIES, 64, 16, 1e-4))),
}


def load_trained(name: str, module: nn.Module) -> nn.Module:
    """Loads the weights of `RECIPES[name]` into a module and returns it in eval mode. Trains it if needed."""
    recipe = RECIPES[name]
    path = FOLDER / f"{name}-{hashlib.sha256(repr(recipe).encode()).hexdigest()[:12]}.pt"
    if path.exists():
        module.load_state_dict(torch.load(path))
        return module.eval()
    _train(module, recipe)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}")
    torch.save(module.state_dict(), unfinished)
    unfinished.replace(path)
    return module.eval()


def _train(module: nn.Module, recipe: Recipe) -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the order of sums does not depend on the number of cores
    try:
        _start_from_shortcuts(module)
        module.to(memory_format=torch.channels_last).train()
        generator = torch.Generator().manual_seed(recipe.seed)
        for phase in recipe.phases:
            _run(module, phase, generator)
        _find_statistics(module, recipe, generator)
        module.to(memory_format=torch.contiguous_format)
    finally:
        torch.set_num_threads(threads)


def _start_from_shortcuts(module: nn.Module) -> None:
    """Sets the last factor of residual branches to zero (Goyal et al., 2017), for faster training."""
    for layer in module.modules():
        last = getattr(layer, "bn3", None)
        if last is not None:
            nn.init.zeros_(last.weight)


def _run(module: nn.Module, phase: Phase, generator: torch.Generator) -> None:
    steps = phase.images // phase.batch
    optimizer = torch.optim.AdamW(module.parameters(), phase.rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, phase.rate, total_steps=steps)
    torch.manual_seed(phase.size)  # dropout
    right = 0
    for step, (images, labels) in enumerate(_batches(phase, steps, generator), 1):
        optimizer.zero_grad()
        results = module(images)
        nn.functional.cross_entropy(results, labels, label_smoothing=0.05).backward()
        optimizer.step()
        schedule.step()
        right += int((results.argmax(-1) == labels).sum())
        if step % 20 == 0 or step == steps:
            seen = phase.batch * (step % 20 or 20)
            print(f"{phase.size} px, {step}/{steps}: {right / seen:.0%} right", file=sys.stderr, flush=True)
            right = 0


def _find_statistics(module: nn.Module, recipe: Recipe, generator: torch.Generator) -> None:
    for norm in module.modules():
        if isinstance(norm, nn.BatchNorm2d):
            norm.reset_running_stats()
            norm.momentum = None
    last = recipe.phases[-1]
    with torch.no_grad():
        for images, _ in _batches(last, recipe.statistics // last.batch, generator):
            module(images)


def _batches(
    phase: Phase, count: int, generator: torch.Generator
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Yields batches of pictures (slightly rotated, shifted and scaled, in channels last) and labels."""
    images, labels = digits(8, 10**6, TRAIN)
    batch, side = phase.batch, phase.size // phase.copies
    for _ in range(count):
        chosen = torch.randint(len(labels), (batch,), generator=generator)
        angle, scale, across, down = torch.rand((4, batch), generator=generator) - 0.5
        angle, scale = angle * 0.3, 1 + scale * 0.2
        turn = torch.stack((scale * angle.cos(), -scale * angle.sin(), 0.15 * across), 1)
        tilt = torch.stack((scale * angle.sin(), scale * angle.cos(), 0.15 * down), 1)
        grid = nn.functional.affine_grid(
            torch.stack((turn, tilt), 1), [batch, 3, side, side], align_corners=False
        )
        pictures = nn.functional.grid_sample(images[chosen], grid, padding_mode="border", align_corners=False)
        pictures = pictures.repeat(1, 1, phase.copies, phase.copies)
        yield pictures.contiguous(memory_format=torch.channels_last), labels[chosen]
