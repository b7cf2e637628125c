"""gather, scatter and other operators with tensors as indices."""

from __future__ import annotations

import torch
from tests.torture.scope import Maker, Refused, Scope, Value


def small(value: Value, axis: int) -> int:
    return min(t.shape[axis] for t in value.data)


def positions(scope: Scope, size: int, count: int) -> Value | str:
    """Returns a vector of positions below `size`: computed, an input, or constant."""
    if size < 1:
        raise Refused("an empty axis")
    rng = scope.rng
    draw = rng.random()
    if draw < 0.4:
        return f"torch.tensor({[rng.randrange(size) for _ in range(count)]})"
    if draw < 0.55 and len(scope.inputs) < 6:
        return scope.input((count,), "int64", f"index {size}")
    found = [v for v in scope.values if v.dtype == torch.int64 and v.rank == 1 and v.fixed and v.shape[0] > 0]
    if found and draw < 0.8:
        return scope.add(f"{{}} % {size}", rng.choice(found))
    return scope.add(f"torch.arange({count}) * {rng.randint(1, 3)} % {size}")


def unique_positions(scope: Scope, size: int) -> str:
    """Returns a constant with distinct positions below `size`."""
    if size < 1:
        raise Refused("an empty axis")
    return f"torch.tensor({scope.rng.sample(range(size), scope.rng.randint(1, size))})"


def gather(scope: Scope) -> Value:
    value = scope.pick(lambda v: v.rank > 0)
    axis = scope.axis(value)
    size = small(value, axis)
    if size < 1:
        raise Refused("an empty axis")
    rng = scope.rng
    draw = rng.random()
    if draw < 0.3:
        return scope.add(
            f"torch.index_select({{}}, {axis}, {{}})", value, positions(scope, size, rng.randint(1, 4))
        )
    if draw < 0.6:
        return scope.add(f"torch.gather({{}}, {axis}, {{}})", value, index_like(scope, value, axis))
    if draw < 0.7:
        return scope.add(f"torch.take_along_dim({{}}, {{}}, {axis})", value, index_like(scope, value, axis))
    if draw < 0.75:
        count = min(t.numel() for t in value.data)
        return scope.add("torch.take({}, {})", value, positions(scope, count, rng.randint(1, 4)))
    before = ", ".join([":"] * rng.randrange(value.rank))
    axis = before.count(":")
    index = positions(scope, small(value, axis), rng.randint(1, 4))
    text = f"{{}}[{before}{', ' if before else ''}{{}}]"
    if axis + 1 < value.rank and rng.random() < 0.3:
        other = positions(scope, small(value, axis + 1), 1)
        return scope.add(text[:-1] + ", {}]", value, index, other)
    return scope.add(text, value, index)


def index_like(scope: Scope, value: Value, axis: int, unique: bool = False) -> Value:
    """Returns positions along an axis with the shape of the value: the order of a value, or an input."""
    rng = scope.rng
    place = axis % value.rank
    draw = rng.random()
    if draw < 0.3 and value.dtype == torch.int64 and not unique:
        return scope.add(f"{{}} % {small(value, axis)}", value)
    if draw < 0.6 or not value.fixed:
        if draw < 0.2 and not unique:
            return scope.add(f"({{}} > 0).long() * {small(value, axis) - 1}", value)
        return scope.add(f"torch.argsort({{}}, dim={axis}, stable=True)", value)
    if len(scope.inputs) > 6:
        raise Refused("many inputs")
    size = value.shape[place]
    kind = f"permutation {place}" if unique or rng.random() < 0.5 or size == 0 else f"index {size}"
    return scope.input(value.shape, "int64", kind)


def mask_for(scope: Scope, value: Value) -> Value:
    """Returns a bool value with the shape of a value, in most cases an earlier one."""
    fitting = [
        v
        for v in scope.values
        if v.dtype == torch.bool and [t.shape for t in v.data] == [t.shape for t in value.data]
    ]
    if fitting and scope.chance(0.6):
        return scope.rng.choice(fitting)
    template = scope.rng.choice(("{} > 0", "{} < 0.5", "{} != 0", "{} >= {}.flip(0)"))
    if not value.rank:
        template = "{} > 0"
    return scope.add(template, *(value,) * template.count("{}"))


def masked(scope: Scope) -> Value:
    value = scope.pick()
    mask = mask_for(scope, value)
    rng = scope.rng
    number = "0.5" if value.is_float else "1"
    draw = rng.random()
    if draw < 0.5:
        return scope.add(f"{{}}.masked_fill({{}}, {rng.choice((number, '0'))})", value, mask)
    if draw < 0.7:
        return scope.add(
            "torch.where({}, {}, {})",
            mask,
            value,
            scope.rng.choice([v for v in scope.values if v.dtype == value.dtype]),
        )
    source = scope.pick(lambda v: v.dtype == value.dtype and v.tensor.numel() >= value.tensor.numel())
    return scope.add("{}.masked_scatter({}, {})", value, mask, source)


def scatter(scope: Scope) -> Value:
    """scatter and similar operators. Source and index are often the value itself or computed from it."""
    value = scope.pick(lambda v: v.rank > 0)
    axis = scope.axis(value)
    if small(value, axis) < 1:
        raise Refused("an empty axis")
    rng = scope.rng
    same = [
        v
        for v in scope.values
        if v.dtype == value.dtype and [t.shape for t in v.data] == [t.shape for t in value.data]
    ]
    source = value if rng.random() < 0.5 else rng.choice(same)
    draw = rng.random()
    if draw < 0.3:
        return scope.add(
            f"{{}}.scatter({axis}, {{}}, {{}})", value, index_like(scope, value, axis, True), source
        )
    if draw < 0.4:
        number = "0.5" if value.is_float else "1"
        return scope.add(f"{{}}.scatter({axis}, {{}}, {number})", value, index_like(scope, value, axis))
    if draw < 0.65:
        return scope.add(
            f"{{}}.scatter_add({axis}, {{}}, {{}})", value, index_like(scope, value, axis), source
        )
    reduce = rng.choice(("sum", "prod", "mean", "amax", "amin"))
    include = rng.choice(("", ", include_self=False"))
    return scope.add(
        f'{{}}.scatter_reduce({axis}, {{}}, {{}}, "{reduce}"{include})',
        value,
        index_like(scope, value, axis),
        source,
    )


def index_writes(scope: Scope) -> Value:
    """index_add, index_copy, index_fill and index_put."""
    value = scope.pick(lambda v: v.rank > 0)
    axis = scope.axis(value)
    rng = scope.rng
    size = small(value, axis)
    draw = rng.random()
    places = unique_positions(scope, size)
    count = places.count(",") + 1
    if draw < 0.2:
        number = "0.25" if value.is_float else "2"
        return scope.add(f"{{}}.index_fill({axis}, {{}}, {number})", value, places)
    if draw < 0.4:
        part = scope.add(f"{{}}.narrow({axis}, 0, {count})", value)
        return scope.add(f"{{}}.index_copy({axis}, {{}}, {{}})", value, places, part)
    if draw < 0.6:
        part = scope.add(f"{{}}.narrow({axis}, {size - count}, {count})", value)
        more = ", alpha=2" if rng.random() < 0.3 else ""
        return scope.add(f"{{}}.index_add({axis}, {{}}, {{}}{more})", value, places, part)
    first = small(value, 0)
    places = unique_positions(scope, first)
    count = places.count(",") + 1
    part = scope.add(f"{{}}[:{count}]", value)
    if draw < 0.8:
        return scope.add("{}.index_put(({},), {})", value, places, part)
    return scope.add("{}.index_put(({},), {}, accumulate=True)", value, positions(scope, first, count), part)


def slice_scatters(scope: Scope) -> Value:
    """A value in which a part of itself replaces another part."""
    value = scope.pick(lambda v: v.rank > 0)
    axis = scope.axis(value)
    size = small(value, axis)
    rng = scope.rng
    if size < 1:
        raise Refused("an empty axis")
    draw = rng.random()
    if draw < 0.4:
        part = scope.add(f"{{}}.select({axis}, {rng.randrange(size)})", value)
        return scope.add(f"torch.select_scatter({{}}, {{}}, {axis}, {rng.randrange(size)})", value, part)
    if draw < 0.5:
        part = scope.add("{}.diagonal()", value)
        return scope.add("torch.diagonal_scatter({}, {})", value, part)
    length = rng.randint(1, size)
    low, other = rng.randint(0, size - length), rng.randint(0, size - length)
    part = scope.add(f"{{}}.narrow({axis}, {low}, {length})", value)
    return scope.add(f"torch.slice_scatter({{}}, {{}}, {axis}, {other}, {other + length})", value, part)


def embedding(scope: Scope) -> Value:
    rng = scope.rng
    rows, width = rng.choice((3, 5, 8)), rng.choice(scope.sizes)
    found = [v for v in scope.values if v.dtype in (torch.int64, torch.int32)]
    index = (
        scope.add(f"{{}}.abs() % {rows}", rng.choice(found))
        if found
        else scope.input((rng.choice(scope.sizes),), "int64", f"index {rows}")
    )
    if rng.random() < 0.15:
        return scope.add(
            f"F.embedding_bag({{}}[None], {{}}, mode='{rng.choice(('sum', 'mean', 'max'))}')",
            index,
            scope.parameter([rows, width]),
        )
    if rng.random() < 0.3:
        table = [
            v for v in scope.values if v.is_float and v.rank == 2 and not v.dynamic(0) and v.shape[0] >= rows
        ]
        if table:
            return scope.add("F.embedding({}, {})", index, rng.choice(table))
    return scope.layer(f"nn.Embedding({rows}, {width})", index)


def selected_by_data(scope: Scope) -> Value:
    """Results whose size depends on data, followed by an operator with a static size."""
    value = scope.floating(1)
    template = scope.rng.choice(
        (
            "{}[{} > 0].sum()",
            "torch.nonzero({} > {}.mean()).sum(0)",
            "torch.masked_select({}, {} < 0.5).sum()",
            "torch.unique(({} > 0).long() + ({} > 1).long()).sum()",
            "torch.where({} > 0)[0].sum() + {}.sum()",
        )
    )
    return scope.add(template, value, value)


OPERATORS: tuple[tuple[Maker, float], ...] = (
    (gather, 1.2),
    (masked, 0.7),
    (scatter, 1.2),
    (index_writes, 1.0),
    (slice_scatters, 0.4),
    (embedding, 0.4),
    (selected_by_data, 0.1),
)
