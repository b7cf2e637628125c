"""Operators that create tensors from sizes and numbers."""

from __future__ import annotations

from tests.torture.scope import Maker, Scope, Value


def created(scope: Scope) -> Value:
    """A new tensor, or one that depends on a value or a size."""
    rng = scope.rng
    value = scope.pick()
    size = value.size(rng.randrange(value.rank)) if value.rank else str(rng.choice(scope.sizes))
    other = rng.choice(scope.sizes)
    number = rng.choice(("0.5", "-1.25", "2.0"))
    template = rng.choice(
        (
            "torch.zeros_like({0})",
            "torch.ones_like({0})",
            f"torch.full_like({{0}}, {rng.randint(-2, 3)})",
            f"torch.full(({{1}}, {other}), {number})",
            "torch.zeros({1})",
            f"torch.ones({{1}}, {other})",
            "torch.arange({1})",
            "torch.arange({1}, dtype=torch.float32)",
            f"torch.arange(1, {other + 2}, {rng.randint(1, 3)})",
            "torch.arange({1} - 1, -1, -1)",
            f"torch.linspace(-1, 1, {other})",
            f"torch.eye({other})",
            f"torch.eye({other}, {rng.choice(scope.sizes)})",
            f"{{0}}.new_full(({other},), 2)",
            f"{{0}}.new_zeros({other}, 1)",
            f"torch.tensor({number})",
            f"torch.tensor([{number}, 1.0, -2.0])",
            f"torch.tensor({[rng.randint(-3, 4) for _ in range(other)]})",
            "torch.empty_like({0}).copy_({0})",
            "torch.scalar_tensor(1.5)",
            f"torch.tril(torch.ones({other}, {other}))",
            "torch.triu(torch.ones({1}, {1}, dtype=torch.bool), 1)",
            f"torch.logspace(-1, 1, {other})",
            f"torch.meshgrid(torch.arange({other}), torch.arange({{1}}), indexing='ij')[1]",
        )
    )
    return scope.add(template, value, size)


OPERATORS: tuple[tuple[Maker, float], ...] = ((created, 1.0),)
