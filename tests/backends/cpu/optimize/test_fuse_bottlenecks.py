"""Convolutions before and after a depthwise convolution, which are computed a few rows at a time."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from tests.backends.cpu.support import assert_close, expected, lower, plan_of, run
from torch import nn

from rushlight.backends.cpu.plan.tables import Bottleneck
from rushlight.backends.cpu.plan.work import work_of
from rushlight.runtime import Runtime


class Block(nn.Module):
    def __init__(
        self,
        channels: int = 8,
        hidden: int = 400,
        kernel: int = 3,
        stride: int = 1,
        dilation: int = 1,
        projects: bool = True,
        act: Callable[[], nn.Module] = nn.ReLU6,
    ) -> None:
        super().__init__()
        padding = kernel // 2 * dilation
        self.expand = nn.Sequential(nn.Conv2d(channels, hidden, 1), act())
        self.depthwise = nn.Sequential(
            nn.Conv2d(hidden, hidden, kernel, stride, padding, dilation, groups=hidden, bias=False), act()
        )
        self.project = nn.Conv2d(hidden, channels, 1) if projects else nn.Identity()
        self.adds = stride == 1 and projects

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.project(self.depthwise(self.expand(x)))
        return x + y if self.adds else y


class Padded(nn.Module):
    """A depthwise convolution with more padding at the bottom and on the right, as in TensorFlow's "same"."""

    def __init__(self, kernel: int, padding: tuple[int, int, int, int], projects: bool = True) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(8, 400, 1),
            nn.ReLU6(),
            nn.ZeroPad2d(padding),
            nn.Conv2d(400, 400, kernel, 2, groups=400),
            nn.SiLU(),
            nn.Conv2d(400, 8, 1) if projects else nn.Identity(),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


class Stem(nn.Module):
    """A 3 x 3 convolution before the depthwise convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 80, 3, 2, 1), nn.ReLU(), nn.Conv2d(80, 80, 3, 1, 1, groups=80), nn.Conv2d(80, 7, 1)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


CASES: dict[str, tuple[nn.Module, tuple[int, ...]]] = {
    "residual": (Block(), (1, 8, 30, 29)),
    "batch": (Block(), (3, 8, 26, 27)),
    "stride": (Block(stride=2), (1, 8, 31, 30)),
    "wide": (Block(kernel=5, stride=2), (2, 8, 27, 27)),
    "dilated": (Block(dilation=2), (1, 8, 28, 28)),
    "no product": (Block(projects=False), (1, 8, 27, 27)),
    "hardswish": (Block(act=nn.Hardswish), (1, 8, 27, 27)),
    "hardswish, no product": (Block(act=nn.Hardswish, projects=False), (1, 8, 27, 27)),
    "stem": (Stem(), (1, 3, 130, 130)),
    "padding on two sides": (Padded(3, (0, 1, 0, 1)), (2, 8, 28, 30)),
    "more padding on two sides": (Padded(5, (1, 2, 1, 2)), (1, 8, 28, 30)),
    "padding on two sides, no product": (Padded(3, (0, 1, 0, 1), projects=False), (1, 8, 28, 30)),
}


@pytest.mark.parametrize("name", CASES)
def test_equals_eager_on_any_number_of_threads(name: str) -> None:
    torch.manual_seed(0)
    model, shape = CASES[name]
    inputs = (torch.randn(shape),)
    program, outside = lower(model, inputs)
    plan = plan_of(program)
    assert not outside and Bottleneck in [type(step.operation) for step in plan.steps]
    (work,) = [item for item in work_of(plan) if item.kind is Bottleneck]
    modules = [(m, out) for m, out in _convolutions(model, inputs[0])]
    assert work.operations == sum(
        2 * out.numel() * m.weight[0].numel() for m, out in modules if isinstance(m, nn.Conv2d)
    )
    got = run(program, inputs)
    assert_close(got, expected(model, inputs))
    for threads in (1, 3):
        method = Runtime.get().load_program(program, threads=threads).load_method("forward")
        assert torch.equal(torch.as_tensor(method.execute(list(inputs))[0]), got[0])


@pytest.mark.parametrize("name", ["residual", "stride", "wide", "dilated", "no product", "stem"])
@pytest.mark.parametrize("multiple", [1, 4])
def test_images_of_any_size(name: str, multiple: int) -> None:
    torch.manual_seed(0)
    model, (batch, channels, *_) = CASES[name]
    least, most = (64, 160) if name == "stem" else (8, 40)
    dims = {
        axis: multiple * torch.export.Dim(f"n{axis}", min=least // multiple, max=most // multiple)
        for axis in (2, 3)
    }
    example = torch.randn(batch, channels, most - 12, most - 8)
    program, outside = lower(model, (example,), (dims,))
    assert not outside and Bottleneck in [type(step.operation) for step in plan_of(program).steps]
    method = Runtime.get().load_program(program, threads=2).load_method("forward")
    for height, width in ((most, most), (least, most - 4), (most - 8, least + 4)):
        inputs = (torch.randn(batch, channels, height, width),)
        assert_close(
            [torch.as_tensor(value) for value in method.execute(list(inputs))], expected(model, inputs)
        )


def _convolutions(model: nn.Module, x: torch.Tensor) -> list[tuple[nn.Module, torch.Tensor]]:
    found: list[tuple[nn.Module, torch.Tensor]] = []
    hooks = [
        m.register_forward_hook(lambda m, _, out: found.append((m, out)))
        for m in model.modules()
        if isinstance(m, nn.Conv2d)
    ]
    with torch.no_grad():
        model(x)
    for hook in hooks:
        hook.remove()
    return found


def test_a_map_that_is_read_twice_or_small_is_whole() -> None:
    class Twice(Block):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            expanded = self.expand(x)
            return self.project(self.depthwise(expanded) + expanded)

    for model, size in ((Twice(), 30), (Block(), 9)):
        inputs = (torch.randn(1, 8, size, size),)
        program, _ = lower(model, inputs)
        assert Bottleneck not in [type(step.operation) for step in plan_of(program).steps]
        assert_close(run(program, inputs), expected(model, inputs))


def test_the_last_product_of_one_is_not_the_first_of_the_next() -> None:
    """Separable convolutions in a row, as in MobileNet: a pointwise convolution could be in two steps."""
    torch.manual_seed(0)

    def separable(stride: int) -> list[nn.Module]:
        return [nn.Conv2d(64, 64, 3, stride, 1, groups=64), nn.Conv2d(64, 64, 1), nn.ReLU()]

    model = nn.Sequential(nn.Conv2d(3, 64, 3, 2, 1), nn.ReLU(), *separable(1), *separable(1), *separable(2))
    inputs = (torch.randn(1, 3, 224, 224),)
    program, _ = lower(model, inputs)
    kinds = [type(step.operation) for step in plan_of(program).steps]
    assert kinds.count(Bottleneck) == 2
    assert_close(run(program, inputs), expected(model, inputs))
