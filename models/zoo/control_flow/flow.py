"""Models with branches, loops, maps and scans."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.map import map as map_over
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim

from models.zoo.cases import Model, model, steps, zoo
from models.zoo.control_flow.sizes import rows

GROUP = "control_flow"


@zoo(GROUP)
def cond_nested() -> Model:
    def run(x: torch.Tensor) -> torch.Tensor:
        def inner(x: torch.Tensor) -> torch.Tensor:
            return torch.cond(x.mean() > 1, lambda x: x * 2, lambda x: x + 10, (x,))

        return torch.cond(x.sum() > 0, inner, lambda x: x.cos(), (x,))

    return model(run, torch.ones(2, 3), others=[torch.ones(2, 3) * 3, -torch.ones(2, 3)])


@zoo(GROUP)
def cond_dynamic_captured() -> Model:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(torch.randn(4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            shift = x.mean(0)
            return torch.cond(x.sum() > 0, lambda x: x * self.w + shift, lambda x: (x - shift).relu(), (x,))

    dynamic = ({0: Dim("b", min=1, max=8)},)
    return model(
        M(),
        torch.ones(3, 4),
        dynamic=dynamic,
        others=[-torch.ones(8, 4), torch.ones(1, 4), -torch.ones(2, 4)],
    )


@zoo(GROUP)
def cond_on_shape() -> Model:
    def run(x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.shape[0] > 4, lambda x: x + 1, lambda x: x - 1, (x,))

    return model(run, torch.randn(3, 2), dynamic=rows(2, 8), others=[torch.randn(5, 2), torch.randn(4, 2)])


@zoo(GROUP)
def cond_views() -> Model:
    """Branches that return views of their operands, and an operand that is transformed twice."""

    def run(x: torch.Tensor, p: torch.Tensor) -> Any:
        y, z = torch.cond(
            p,
            lambda x: (x.view(6).clone(), x.t().contiguous()),
            lambda x: ((x.flatten() * 2), x.reshape(3, 2).clone()),
            (x,),
        )
        return y + 1, z.flatten() + y

    t, f = torch.tensor(True), torch.tensor(False)
    return model(run, torch.randn(2, 3), t, others=[(torch.randn(2, 3), f), (torch.randn(2, 3), t)])


@zoo(GROUP)
def cond_returns_weight() -> Model:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Parameter(torch.randn(3)), nn.Parameter(torch.randn(3))

        def forward(self, p: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
            return x + torch.cond(p, lambda x: self.a * 1, lambda x: self.b + x, (x,))

    return model(M(), torch.tensor(True), torch.randn(3), others=[(torch.tensor(False), torch.randn(3))])


@zoo(GROUP)
def cond_integers() -> Model:
    def run(n: torch.Tensor, x: torch.Tensor) -> Any:
        return torch.cond(n > 2, lambda n, x: (n * 2, x > 0), lambda n, x: (n - 1, x < 0), (n, x))

    return model(run, torch.tensor(3), torch.randn(3), others=[(torch.tensor(1), torch.randn(3))])


@zoo(GROUP)
def cond_linear_layers() -> Model:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.deep = nn.Sequential(
                nn.Conv2d(3, 4, 3),
                nn.BatchNorm2d(4),
                nn.ReLU(),
                nn.AdaptiveAvgPool2d(1),
                nn.Flatten(),
                nn.Linear(4, 2),
            )
            self.flat = nn.Linear(3, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cond(x.amax() > 0, self.deep, lambda x: self.flat(x.mean((2, 3))), (x,))

    return model(M(), torch.randn(1, 3, 6, 6), others=[-torch.ones(1, 3, 6, 6)])


@zoo(GROUP)
def cond_in_while_loop() -> Model:
    def run(n: torch.Tensor, x: torch.Tensor) -> Any:
        def body(i: torch.Tensor, x: torch.Tensor) -> Any:
            return i - 1, torch.cond(i % 2 == 0, lambda x: x * 0.5, lambda x: x + 1, (x,))

        return while_loop(lambda i, x: i > 0, body, (n, x))

    return model(
        run,
        torch.tensor(3),
        torch.randn(2),
        others=[(torch.tensor(6), torch.randn(2)), (torch.tensor(0), torch.randn(2))],
    )


@zoo(GROUP)
def while_loop_in_cond() -> Model:
    def run(p: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        def loop(x: torch.Tensor) -> torch.Tensor:
            return while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 1.5), (torch.tensor(0), x))[1]

        return torch.cond(p, loop, lambda x: x.neg(), (x,))

    return model(run, torch.tensor(True), torch.randn(2), others=[(torch.tensor(False), torch.randn(2))])


@zoo(GROUP)
def while_loop_nested() -> Model:
    def run(x: torch.Tensor) -> torch.Tensor:
        def outer(i: torch.Tensor, x: torch.Tensor) -> Any:
            _, x = while_loop(
                lambda j, x: j < 2,
                lambda j, x: (j + 1, x + i.to(x.dtype)),
                (torch.zeros((), dtype=torch.int64), x),
            )
            return i + 1, x

        return while_loop(lambda i, x: i < 3, outer, (torch.zeros((), dtype=torch.int64), x))[1]

    return model(run, torch.randn(2))


@zoo(GROUP)
def while_loop_captured_dynamic() -> Model:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            bias = x.mean(0, keepdim=True)
            return while_loop(
                lambda i, h: i < 3, lambda i, h: (i + 1, torch.tanh(self.w(h) + bias)), (torch.tensor(0), x)
            )[1]

    return model(
        M(),
        torch.randn(3, 4),
        dynamic=({0: Dim("b", min=2, max=8)},),
        others=[torch.randn(8, 4), torch.randn(2, 4)],
    )


@zoo(GROUP)
def while_loop_swap() -> Model:
    """The body swaps carried values: Fibonacci numbers."""

    def run(n: torch.Tensor) -> Any:
        one = torch.ones((), dtype=torch.int64)
        return while_loop(lambda i, a, b: i > 0, lambda i, a, b: (i - 1, b.clone(), a + b), (n, one * 0, one))

    return model(run, torch.tensor(5), others=[torch.tensor(10), torch.tensor(0)])


@zoo(GROUP)
def while_loop_int_counter() -> Model:
    def run(x: torch.Tensor) -> torch.Tensor:
        return while_loop(lambda i, x: i < 4, lambda i, x: (i + 1, x * 2), (0, x))[1]

    return model(run, torch.randn(3))


@zoo(GROUP)
def while_loop_norm() -> Model:
    def run(x: torch.Tensor) -> Any:
        return while_loop(
            lambda x, n: x.norm() > 1, lambda x, n: (x * 0.7, n + 1), (x, torch.zeros((), dtype=torch.int32))
        )

    return model(run, torch.randn(4) * 5, others=[torch.randn(4) * 0.01])


@zoo(GROUP)
def map_captured_dynamic() -> Model:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Linear(4, 2)

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            scale = y.sum()
            return map_over(lambda row, y: self.w(row).relu() * scale + y.mean(), x, y)

    dynamic = ({0: Dim("n", min=2, max=8)}, None)
    return model(
        M(),
        torch.randn(3, 2, 4),
        torch.randn(5),
        dynamic=dynamic,
        others=[(torch.randn(8, 2, 4), torch.randn(5))],
    )


@zoo(GROUP)
def map_two_outputs() -> Model:
    def run(x: torch.Tensor) -> Any:
        return map_over(lambda row: (row.sum(), row.cumsum(0)), x)

    return model(run, torch.randn(4, 5))


@zoo(GROUP)
def map_nested() -> Model:
    def run(x: torch.Tensor) -> torch.Tensor:
        def rows(row: torch.Tensor, shift: torch.Tensor) -> torch.Tensor:
            return map_over(lambda v, s: v.sin() + s, row, shift * 2)

        return map_over(rows, x, x.mean())

    return model(run, torch.randn(3, 4, 2))


@zoo(GROUP)
def cond_in_map() -> Model:
    def run(x: torch.Tensor) -> torch.Tensor:
        return map_over(lambda row: torch.cond(row.sum() > 0, lambda r: r * 2, lambda r: r - 1, (row,)), x)

    return model(run, torch.randn(5, 3), others=[torch.randn(5, 3)])


@zoo(GROUP)
def scan_reverse() -> Model:
    def run(c: torch.Tensor, x: torch.Tensor) -> Any:
        return scan(lambda c, x: (c * 0.5 + x, c.clone()), c, x, reverse=True)

    return model(run, torch.zeros(3), torch.randn(6, 3))


@zoo(GROUP)
def scan_dim() -> Model:
    def run(c: torch.Tensor, x: torch.Tensor) -> Any:
        return scan(lambda c, x: (c + x, c * x), c, x, dim=1)

    return model(run, torch.zeros(3), torch.randn(3, 5))


@zoo(GROUP)
def scan_rnn_tree() -> Model:
    """Two carried states, a dict of outputs, and captured weights."""

    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.LSTMCell(3, 4)

        def forward(self, x: torch.Tensor) -> Any:
            def step(state: Any, row: torch.Tensor) -> Any:
                h, c = self.cell(row, state)
                return (h, c), {"h": h.clone(), "norm": c.square().sum(-1)}

            return scan(step, (torch.zeros(2, 4), torch.zeros(2, 4)), x)

    return model(M(), torch.randn(5, 2, 3))


@zoo(GROUP)
def scan_dynamic_length() -> Model:
    def run(c: torch.Tensor, x: torch.Tensor) -> Any:
        return scan(lambda c, x: (c * 0.9 + x, c.sum() + x), c, x)

    dynamic = {"args": (None, {0: Dim("s", min=2, max=9)})}
    return model(
        run,
        torch.zeros(3),
        torch.randn(6, 3),
        dynamic=dynamic,
        others=[(torch.ones(3), torch.randn(9, 3)), (torch.ones(3), torch.randn(2, 3))],
    )


@zoo(GROUP)
def scan_in_cond() -> Model:
    def run(p: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        def cumulative(x: torch.Tensor) -> torch.Tensor:
            return scan(lambda c, x: (c + x, c + x), torch.zeros(3), x)[1]

        return torch.cond(p, cumulative, lambda x: x * 2, (x,))

    return model(
        run, torch.tensor(True), torch.randn(4, 3), others=[(torch.tensor(False), torch.randn(4, 3))]
    )


@zoo(GROUP)
def associative_scan_generic() -> Model:
    def run(a: torch.Tensor, b: torch.Tensor) -> Any:
        return associative_scan(
            lambda x, y: (x[0] * y[0], x[1] * y[0] + y[1]), (a, b), 0, combine_mode="generic"
        )

    return model(run, torch.rand(8, 3), torch.randn(8, 3))


@zoo(GROUP)
def state_in_cond() -> Model:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("n", torch.zeros(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            step = torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: -x, (x,))
            self.n.add_(step)
            return self.n + x

    return steps(M(), (torch.ones(3),), (-torch.ones(3),), (torch.ones(3) * 2,))
