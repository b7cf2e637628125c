"""Buffers that a module changes: counters, running means, caches, shift registers."""

from __future__ import annotations

from tests.torture.scope import Maker, Refused, Scope, Value


def buffer(scope: Scope, expression: str) -> Value:
    """Adds a buffer, and gives it a name in forward. Some buffers have the name of an input."""
    free = [i.name for i in scope.inputs if all(m.name != i.name for m in scope.members)]
    name = scope.rng.choice(free) if free and scope.chance(0.1) else ""
    return scope.add(scope.member("buffer", expression, name))


def view(scope: Scope) -> Value:
    """A buffer that is a view of another buffer."""
    buffers = [m for m in scope.members if m.kind == "buffer"]
    if not buffers:
        raise Refused("there is no buffer")
    base = f"self.{scope.rng.choice(buffers).name}"
    tensor = getattr(scope.modules[0], base.removeprefix("self."))
    if tensor.dim() == 0 or tensor.numel() == 0:
        return buffer(scope, base)
    part = scope.rng.choice(("[1:]", "[:-1]", "[0]", "[-1:]", ".t()", ".view(-1)", "[..., 0]", "[::2]", ""))
    if (part == ".t()" and tensor.dim() != 2) or (part == ".view(-1)" and not tensor.is_contiguous()):
        raise Refused("no such view")
    return buffer(scope, base + part)


def counter(scope: Scope) -> Value:
    """A counter that every call changes."""
    b = buffer(
        scope, scope.rng.choice(("torch.tensor(0)", "torch.tensor(3)", "torch.zeros(1, dtype=torch.int64)"))
    )
    scope.add(scope.rng.choice(("{}.add_(1)", "{} += 2", "{}.mul_(2).add_(1)")), b, count=0)
    return scope.add("{} + {}", scope.floating(), b)


def running_mean(scope: Scope) -> Value:
    """A mean over the first axis that follows the values of several calls."""
    value = scope.pick(
        lambda v: (
            v.is_float
            and v.rank >= 2
            and not any(v.dynamic(a) for a in range(1, v.rank))
            and v.tensor.numel() > 0
        )
    )
    b = buffer(scope, f"torch.zeros({list(value.shape[1:])}, dtype={value.dtype})")
    scope.add(
        scope.rng.choice(
            (
                "{}.mul_(0.9).add_({}.mean(0), alpha=0.1)",
                "{}.lerp_({}.mean(0), 0.25)",
                "{}.copy_({}.mean(0) * 0.5 + {} * 0.5)",
            )
        ),
        b,
        value,
        b,
        count=0,
    )
    return scope.add("{} - {}", value, b)


def cache(scope: Scope) -> Value:
    """A cache. Rows are written at a position that is an input, and the whole cache is read."""
    value = scope.pick(lambda v: v.is_float and v.rank >= 2 and v.fixed and v.tensor.numel() > 0)
    rows = value.shape[0] + scope.rng.randint(0, 4)
    b = buffer(scope, f"torch.zeros({[rows, *value.shape[1:]]}, dtype={value.dtype})")
    count = value.shape[0]
    draw = scope.rng.random()
    if draw < 0.4:
        place = scope.input((count,), "int64", "permutation 0")
        scope.add(
            scope.rng.choice(("{}.index_copy_(0, {}, {})", "{}[{}] = {}", "{}.index_put_(({},), {})")),
            b,
            place,
            value,
            count=0,
        )
    elif draw < 0.7:
        start = scope.rng.randint(0, rows - count)
        scope.add(f"{{}}[{start}:{start + count}] = {{}}", b, value, count=0)
    else:
        scope.add("{}.copy_(torch.cat([{}, {}])[-{}.shape[0]:])", b, b, value, b, count=0)
    return scope.add(
        scope.rng.choice(("{} * 1", "{}.sum(0)", "torch.softmax({}, -1)", "{}[:2] + 1", "{}.clone()")), b
    )


def free(scope: Scope) -> Value:
    """A buffer as an ordinary value, to which other operators may write."""
    sizes = [scope.rng.choice(scope.sizes) for _ in range(scope.rng.randint(1, 3))]
    return buffer(
        scope, scope.rng.choice((f"torch.randn({sizes})", f"torch.zeros({sizes})", f"torch.ones({sizes})"))
    )


def swapped(scope: Scope) -> Value:
    """Two buffers whose values are swapped."""
    sizes = [scope.rng.choice(scope.sizes) for _ in range(scope.rng.randint(0, 2))]
    a, b = (buffer(scope, f"torch.randn({sizes})") for _ in range(2))
    old = scope.add(scope.rng.choice(("{}.clone()", "{} + 0", "{} * 2")), a)
    scope.add("{}.copy_({})", a, b, count=0)
    scope.add("{}.copy_({})", b, old, count=0)
    return scope.add("{} + {}", a, b)


def replaced(scope: Scope) -> Value:
    """A buffer that is read and then replaced, so that a call sees the value of the call before."""
    value = scope.floating()
    if not value.fixed:
        raise Refused("a fixed size is needed")
    b = buffer(scope, f"torch.zeros({list(value.shape)}, dtype={value.dtype})")
    before = scope.add(scope.rng.choice(("{} + 1", "{}.clone()", "{} * {}")), b, b)
    scope.add("{}.copy_({})", b, value, count=0)
    return before


OPERATORS: tuple[tuple[Maker, float], ...] = (
    (counter, 1.0),
    (running_mean, 1.0),
    (cache, 1.0),
    (free, 0.7),
    (view, 1.0),
    (swapped, 0.5),
    (replaced, 0.7),
)
