"""Views, and operators that move elements."""

from __future__ import annotations

from tests.torture.scope import Maker, Refused, Scope, Value


def _start_stop(scope: Scope, value: Value, axis: int) -> str:
    """Returns a slice of an axis, often with negative or missing ends and with steps."""
    size = min(t.shape[axis] for t in value.data)
    rng = scope.rng
    step = rng.choice((1, 1, 1, 2, 3))
    low = rng.randint(0, size)
    high = rng.randint(low, size)
    start = rng.choice(
        ("", str(low), str(low - size) if low < size and not value.dynamic(axis) else str(low))
    )
    stop = rng.choice(
        ("", str(high), str(high + 3), f"-{rng.randint(1, 2)}", "" if value.dynamic(axis) else str(high))
    )
    return f"{start}:{stop}" + (f":{step}" if step > 1 else "")


def index_text(scope: Scope, value: Value) -> str:
    """Returns the text of an index: slices, numbers, None and an ellipsis."""
    rng = scope.rng
    parts: list[str] = []
    last = rng.randint(1, value.rank)
    for axis in range(last):
        draw = rng.random()
        if draw < 0.3:
            parts.append(":")
        elif draw < 0.8:
            parts.append(_start_stop(scope, value, axis))
        elif draw < 0.9:
            parts.append(rng.choice(("0", "-1")))
        else:
            parts += ["None", ":"]
    if rng.random() < 0.2 and last == value.rank:
        parts[0:1] = ["..."] if len(parts) == 1 else [parts[0]]
    elif rng.random() < 0.2:
        parts = ["...", *parts[-1:]]
    return ", ".join(parts)


def slices(scope: Scope, value: Value) -> Value:
    if not value.rank:
        return scope.add("{}[None]", value)
    return scope.add("{}[" + index_text(scope, value) + "]", value)


def transposed(scope: Scope, value: Value) -> Value:
    if value.rank < 2:
        raise Refused("a rank of two is needed")
    if value.rank == 2 and scope.chance(0.5):
        return scope.add(scope.rng.choice(("{}.t()", "{}.T", "{}.mT")), value)
    if scope.chance(0.5):
        a, b = scope.rng.sample(range(-value.rank, value.rank), 2)
        return scope.add(f"{{}}.{scope.rng.choice(('transpose', 'swapaxes'))}({a}, {b})", value)
    order = list(range(value.rank))
    scope.rng.shuffle(order)
    return scope.add(f"{{}}.permute({', '.join(map(str, order))})", value)


def reshaped(scope: Scope, value: Value) -> Value:
    rng = scope.rng
    method = rng.choice(("reshape", "reshape", "view", "flatten"))
    if method == "flatten":
        if not value.rank:
            return scope.add("{}.flatten()", value)
        low = rng.randrange(value.rank)
        return scope.add(f"{{}}.flatten({low}, {rng.randint(low, value.rank - 1)})", value)
    if not value.fixed:
        axis = next(a for a in range(value.rank) if value.dynamic(a))
        rest = [n for a, n in enumerate(value.shape) if a != axis]
        if any(value.dynamic(a) for a in range(value.rank) if a != axis):
            return scope.add("{}.flatten(1)", value) if value.rank > 1 else scope.add("{}.view(-1)", value)
        template = rng.choice(
            (f"{{}}.{method}({{}}, -1)", f"{{}}.{method}(-1, {_product(rest)})", f"{{}}.{method}(-1)")
        )
        return scope.add(template, *(value, value.size(axis))[: template.count("{}")])
    sizes = _factors(scope, value.tensor.numel())
    if sizes and rng.random() < 0.4 and value.tensor.numel():
        sizes[rng.randrange(len(sizes))] = -1
    return scope.add(f"{{}}.{method}({', '.join(map(str, sizes)) or '()'})", value)


def _product(sizes: list[int]) -> int:
    product = 1
    for size in sizes:
        product *= size
    return product


def _factors(scope: Scope, count: int) -> list[int]:
    """Returns a shape with `count` elements."""
    if count == 0:
        return [0, scope.rng.randint(1, 3)]
    sizes = [count]
    for _ in range(scope.rng.randint(0, 3)):
        place = scope.rng.randrange(len(sizes))
        divisors = [d for d in range(1, sizes[place] + 1) if sizes[place] % d == 0]
        divisor = scope.rng.choice(divisors)
        sizes[place : place + 1] = [divisor, sizes[place] // divisor]
    return sizes[:5] if len(sizes) <= 5 else [count]


def unsqueezed(scope: Scope, value: Value) -> Value:
    if value.rank >= 5 or (value.rank and scope.chance(0.4)):
        # A dynamic dim may have one element in a call. The rank of the result in eager PyTorch is then
        # different.
        if any(value.dynamic(axis) for axis in range(value.rank)):
            raise Refused("a dynamic size")
        return scope.add(
            scope.rng.choice(("{}.squeeze()", "{}.squeeze(0)", "{}.squeeze(-1)", "torch.atleast_2d({})")),
            value,
        )
    axis = scope.rng.randint(-value.rank - 1, value.rank)
    return scope.add(f"{{}}.unsqueeze({axis})", value)


def expanded(scope: Scope, value: Value) -> Value:
    if scope.chance(0.3):
        other = scope.pick(lambda v: v.rank >= value.rank)
        return scope.add("{}.expand_as({})", value, other)
    ones = [a for a in range(value.rank) if all(t.shape[a] == 1 for t in value.data)]
    sizes = [
        str(scope.rng.choice(scope.sizes)) if a in ones and scope.chance(0.8) else "-1"
        for a in range(value.rank)
    ]
    if value.rank < 5 and (not ones or scope.chance(0.4)):
        sizes.insert(0, str(scope.rng.choice(scope.sizes)))
    return scope.add(
        f"{{}}.expand({', '.join(sizes)})",
        value,
    )


def diagonal(scope: Scope, value: Value) -> Value:
    if value.rank < 2:
        raise Refused("a rank of two is needed")
    return scope.add(f"{{}}.diagonal({scope.rng.randint(-1, 1)}, 0, -1)", value)


def selected(scope: Scope, value: Value) -> Value:
    axis = scope.axis(value)
    size = min(t.shape[axis] for t in value.data)
    if not size:
        raise Refused("an empty axis")
    rng = scope.rng
    if rng.random() < 0.5:
        place = rng.choice((-1, 0, rng.randrange(size)))
        return scope.add(f"{{}}.select({axis}, {place})", value)
    start = rng.randrange(size)
    return scope.add(
        f"{{}}.narrow({axis}, {start}, {rng.randint(0 if rng.random() < 0.1 else 1, size - start)})", value
    )


def unfolded(scope: Scope, value: Value) -> Value:
    axis = scope.axis(value, lambda a: not value.dynamic(a) and value.shape[a] > 0)
    size = scope.rng.randint(1, value.shape[axis])
    return scope.add(f"{{}}.unfold({axis}, {size}, {scope.rng.randint(1, 3)})", value)


def maybe_copied(scope: Scope, value: Value) -> Value:
    """An operator that returns the tensor, a view or a copy, depending on the layout and the dtype."""
    template = scope.rng.choice(
        (
            "{}.contiguous()",
            "{}.contiguous()",
            "{}.ravel()",
            "{}.reshape({}.shape)",
            "F.dropout({}, 0.3, training=False)",
            f"{{}}.to({value.dtype})",
            "{}.type_as({})",
            "{}.flatten()",
            "{}.detach()",
        )
    )
    return scope.add(template, *(value,) * template.count("{}"))


VIEWS = (
    (slices, 3.0),
    (transposed, 2.0),
    (reshaped, 1.5),
    (unsqueezed, 1.0),
    (expanded, 0.8),
    (selected, 0.8),
    (diagonal, 0.4),
    (unfolded, 0.2),
    (maybe_copied, 1.2),
)


def view_of(scope: Scope, value: Value) -> Value:
    """A random view of a value."""
    makers, weights = zip(*VIEWS, strict=True)
    maker: Maker = scope.rng.choices(makers, weights)[0]
    return maker(scope, value)  # type: ignore[call-arg]


def view(scope: Scope) -> Value:
    return view_of(scope, scope.pick())


def split(scope: Scope) -> Value:
    """All parts of a value along an axis."""
    value = scope.pick(lambda v: v.rank > 0)
    axis = scope.axis(value)
    if value.dynamic(axis):
        raise Refused("the number of parts differs")
    size = value.shape[axis]
    draw = scope.rng.random()
    if draw < 0.3 and 1 <= size <= 5:
        return scope.add(f"{{}}.unbind({axis})" + ("[0]" if size == 1 else ""), value, count=size)
    if draw < 0.6 and size >= 2:
        parts = scope.rng.randint(2, min(4, size))
        chunks = -(-size // parts)
        return scope.add(f"{{}}.chunk({parts}, {axis})", value, count=-(-size // chunks))
    if draw < 0.8 and size >= 2:
        length = scope.rng.randint(-(-size // 4), size - 1)
        return scope.add(f"torch.split({{}}, {length}, {axis})", value, count=-(-size // length))
    low = scope.rng.randint(0, size)
    if draw < 0.9:
        return scope.add(f"torch.split({{}}, [{low}, {size - low}], {axis})", value, count=2)
    return scope.add(f"torch.tensor_split({{}}, [{low}], {axis})", value, count=2)


def cat(scope: Scope) -> Value:
    """cat or stack of values, which may contain the same value twice and views of it."""
    value = scope.pick(lambda v: v.rank > 0)
    if scope.chance(0.3):
        fitting = [v for v in scope.values if [t.shape for t in v.data] == [t.shape for t in value.data]]
        chosen = [value, *(scope.rng.choice(fitting) for _ in range(scope.rng.randint(1, 3)))]
        axis = scope.rng.randint(-value.rank - 1, value.rank)
        return scope.add(f"torch.stack([{', '.join(['{}'] * len(chosen))}], {axis})", *chosen)
    axis = scope.axis(value)
    place = axis % value.rank

    def fits(other: Value) -> bool:
        return other.rank == value.rank and all(
            s.shape[a] == t.shape[a]
            for s, t in zip(other.data, value.data, strict=True)
            for a in range(value.rank)
            if a != place
        )

    fitting = [v for v in scope.values if fits(v)]
    chosen = [value, *(scope.rng.choice(fitting) for _ in range(scope.rng.randint(1, 3)))]
    scope.rng.shuffle(chosen)
    return scope.add(f"torch.cat([{', '.join(['{}'] * len(chosen))}], {axis})", *chosen)


def moved(scope: Scope) -> Value:
    """flip, roll, repeat, padding and similar operators."""
    value = scope.pick(lambda v: v.rank > 0)
    axis = scope.axis(value)
    rng = scope.rng
    draw = rng.randrange(14)
    if draw == 0:
        return scope.add(f"{{}}.flip({axis})", value)
    if draw == 1:
        return scope.add(f"torch.roll({{}}, {rng.randint(-3, 3)}, {axis})", value)
    if draw == 2:
        return scope.add(
            f"{{}}.repeat({', '.join(str(rng.randint(1, 2)) for _ in range(value.rank))})", value
        )
    if draw == 3:
        return scope.add(f"torch.repeat_interleave({{}}, {rng.randint(1, 3)}, dim={axis})", value)
    if draw == 4:
        return scope.add(f"torch.tril({{}}, {rng.randint(-2, 2)})", value)
    if draw == 5:
        return scope.add(f"torch.triu({{}}, {rng.randint(-2, 2)})", value)
    if draw == 6:
        amounts = [
            rng.randint(0, 2) if rng.random() < 0.8 else -1 for _ in range(2 * rng.randint(1, value.rank))
        ]
        fill = rng.choice(("", ", value=1")) if not value.is_float else rng.choice(("", ", value=0.5"))
        return scope.add(f"F.pad({{}}, {tuple(amounts)}{fill})", value)
    if draw == 7:
        return scope.add(f"torch.roll({{}}, {rng.randint(-3, 3)})", value)
    if draw == 8:
        return scope.add(f"torch.tile({{}}, ({rng.randint(1, 2)}, {rng.randint(1, 2)}))", value)
    if draw == 9:
        return scope.add(f"torch.diag_embed({{}}, {rng.randint(-1, 1)})", value)
    if draw == 10:
        return scope.add(f"torch.movedim({{}}, 0, {rng.randrange(value.rank)}).contiguous()", value)
    if draw == 11:
        return scope.add(f"torch.rot90({{}}, {rng.randint(-1, 2)}, (0, 1))", value)
    if draw == 12:
        return scope.add(f"torch.diff({{}}, dim={axis})", value)
    return scope.add("torch.diag({})", value)


def reshaped_like(scope: Scope) -> Value:
    value = scope.pick()
    fitting = [v for v in scope.values if [t.numel() for t in v.data] == [t.numel() for t in value.data]]
    return scope.add(
        scope.rng.choice(("{}.view_as({})", "{}.reshape({}.shape)")), value, scope.rng.choice(fitting)
    )


OPERATORS: tuple[tuple[Maker, float], ...] = (
    (view, 4.0),
    (split, 0.8),
    (cat, 1.2),
    (moved, 1.2),
    (reshaped_like, 0.3),
)
