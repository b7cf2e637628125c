"""Constants and buffers of all dtypes, which plans and kernels read and programs return."""

from __future__ import annotations

from tests.torture.scope import Maker, Scope, Value, rows

DTYPES = ("float64", "float64", "int16", "int16", "int8", "uint8", "int32", "bool", "float16", "bfloat16")
USES = rows(
    """
    {0} + {1}; {0} * {1}; ({0} * {1}).to({0}.dtype); {0} - {1}.to({0}.dtype); torch.where({1} > 0, {0}, 1);
    torch.maximum({0}, {1}.to({0}.dtype)); {1}[:1] * {0}; torch.cat([{1}.to({0}.dtype), {1}.to({0}.dtype)]);
    {0} + {1}.sum(); ({1} + {1}).float() * {0}; {1}.flip(0) + {0}; {0}.to({1}.dtype) + {1};
    {1}.abs().long() % 3 + 1; ({1} * 2).to(torch.float32) + {0}; {0}.masked_fill({1}.bool(), 0)
    """
)


def _constant(scope: Scope, sizes: list[int]) -> Value:
    """Adds a constant in forward, or a buffer, with these sizes."""
    rng = scope.rng
    dtype = rng.choice(DTYPES)
    count = 1
    for size in sizes:
        count *= size
    numbers = [rng.randint(0 if dtype in ("uint8", "bool") else -4, 5) for _ in range(count)]
    text = f"torch.tensor({numbers}, dtype=torch.{dtype}).reshape({sizes})"
    draw = rng.random()
    if draw < 0.5:
        return scope.add(text)
    if draw < 0.6 and "float" in dtype:
        return scope.add(scope.member("parameter", text))
    made = scope.add(scope.member("buffer", text))
    if draw < 0.75:
        scope.add(rng.choice(("{}.add_(1)", "{}.mul_(2)", "{}.copy_({} + 1)")), made, made, count=0)
    return made


def used(scope: Scope) -> Value:
    """A constant that broadcasts with a value, and an operator of both."""
    value = scope.pick()
    sizes = [1 if value.dynamic(a) or scope.chance(0.3) else n for a, n in enumerate(value.shape)]
    made = _constant(scope, sizes[scope.rng.randint(0, len(sizes)) :])
    if scope.chance(0.2):
        return made
    return scope.add(scope.rng.choice(USES), value, made)


def looked_up(scope: Scope) -> Value:
    """Rows of a constant at positions that are computed or constant."""
    rng = scope.rng
    made = _constant(scope, [rng.randint(1, 5), rng.choice((1, 2, 4))])
    size = made.shape[0]
    place = scope.pick()
    index = f"({{}}.abs() > 0.5).reshape(-1)[:3].long() * {size - 1}"
    return scope.add(f"{{}}[{index}]", made, place)


OPERATORS: tuple[tuple[Maker, float], ...] = ((used, 3.0), (looked_up, 1.0))
