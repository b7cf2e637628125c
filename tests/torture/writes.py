"""Operators that write in place: to values, to views of them, to slices."""

from __future__ import annotations

import torch
from tests.torture.elementwise import broadcasts, shares
from tests.torture.indexing import index_like, mask_for, unique_positions
from tests.torture.scope import INTEGERS, Maker, Refused, Scope, Value, rows
from tests.torture.views import index_text, view_of

UNARY = rows(
    """
    {}.relu_(); {}.neg_(); {}.sigmoid_(); {}.tanh_(); {}.abs_(); {}.mul_(2); {}.add_(1); {}.sub_(0.5);
    {}.div_(2); {}.clamp_(-1, 1); {}.zero_(); {}.fill_(0.25); {}.square_(); {}.exp_(); {}.floor_();
    {}.clamp_(min=0); F.relu({}, inplace=True); {}.tril_(); {}.triu_(1); F.silu({}, inplace=True);
    F.hardswish({}, inplace=True); F.leaky_relu({}, inplace=True); {}.round_(); {}.fill_diagonal_(1.0);
    {}.pow_(2); {}.cos_(); F.hardtanh({}, inplace=True); {}.reciprocal_(); {}.mul_(0); {}.nan_to_num_();
    {}.cumsum_(0)
    """
)
INTEGER_UNARY = rows(
    """
    {}.neg_(); {}.add_(1); {}.mul_(2); {}.zero_(); {}.fill_(3); {}.clamp_(-1, 2); {}.abs_();
    {}.bitwise_not_(); {}.remainder_(3)
    """
)
BOOL_UNARY = rows(
    """
    {}.logical_not_(); {}.zero_(); {}.fill_(True)
    """
)
BINARY = rows(
    "{}.add_({}); {}.mul_({}); {}.sub_({}); {}.copy_({}); {}.add_({}, alpha=2); {} += {}; {} *= {}; {} -= {}"
)
FLOAT_BINARY = rows(
    "{}.div_({}); {}.lerp_({}, 0.5); {}.atan2_({}); {}.addcmul_({}, {}, value=0.5); {}.fmod_({}); {} /= {}"
)


def target(scope: Scope) -> Value:
    """Returns a value to which a statement may write, or a new view of one."""
    value = scope.pick(scope.writable)
    if scope.chance(0.5):
        for _ in range(3):
            try:
                return view_of(scope, value)
            except Refused:
                continue
    return value


def safe(into: Value, other: Value) -> str:
    """Returns the text of the operand, with a copy if its memory overlaps the target of the write."""
    if not shares(into, other):
        return other.name
    same = all(
        s.data_ptr() == t.data_ptr() and s.shape == t.shape and s.stride() == t.stride()
        for s, t in zip(into.data, other.data, strict=True)
    )
    return other.name if same else f"{other.name}.clone()"


def checked(scope: Scope, into: Value) -> Value:
    if not scope.writable(into):
        raise Refused("no place to write")
    return into


def unary(scope: Scope) -> Value:
    into = checked(scope, target(scope))
    table = UNARY if into.is_float else BOOL_UNARY if into.dtype == torch.bool else INTEGER_UNARY
    return scope.add(scope.rng.choice(table), into, count=0)


def fitting(scope: Scope, into: Value) -> Value:
    """Returns a value that broadcasts to the shape of the target."""

    def fits(other: Value) -> bool:
        if other.is_float > into.is_float or not broadcasts(into, other):
            return False
        return all(
            torch.broadcast_shapes(s.shape, t.shape) == s.shape
            for s, t in zip(into.data, other.data, strict=True)
        )

    found = [v for v in scope.values if fits(v)]
    close = [v for v in found if shares(v, into)]
    return scope.rng.choice(close if close and scope.chance(0.6) else found or [into])


def binary(scope: Scope) -> Value:
    into = checked(scope, target(scope))
    if into.dtype == torch.bool:
        return scope.add(
            scope.rng.choice(("{}.logical_and_({})", "{} |= {}")), into, _text(scope, into), count=0
        )
    if into.dtype in INTEGERS:
        return scope.add(scope.rng.choice(BINARY), into, _text(scope, into), count=0)
    template = scope.rng.choice((*BINARY, *FLOAT_BINARY))
    operand = _text(scope, into)
    return scope.add(template, into, *(operand,) * (template.count("{}") - 1), count=0)


def _text(scope: Scope, into: Value) -> str:
    return safe(into, fitting(scope, into))


def assigned(scope: Scope) -> Value:
    """An assignment to, or an update of, a slice."""
    into = scope.pick(lambda v: v.rank > 0 and scope.writable(v))
    index = index_text(scope, into)
    part = scope.add(f"{{}}[{index}].clone()", into) if scope.chance(0.5) else None
    rng = scope.rng
    if part is None:
        number = "1" if not into.is_float else rng.choice(("0", "0.5", "-2"))
        operator = rng.choice(("=", "=", "+=", "*="))
        return scope.add(f"{{}}[{index}] {operator} {number}", into, count=0)
    if rng.random() < 0.5 and part.rank:
        part = scope.add(f"{{}}.flip({rng.randrange(part.rank)})", part)
    return scope.add(f"{{}}[{index}] {rng.choice(('=', '=', '+='))} {{}}", into, part, count=0)


def masked(scope: Scope) -> Value:
    into = checked(scope, target(scope))
    mask = mask_for(scope, into)
    number = "0.5" if into.is_float else "1"
    template = scope.rng.choice(
        (f"{{}}.masked_fill_({{}}, {number})", "{}[{}] = 0", f"{{}}[{{}}] = {number}")
    )
    return scope.add(template, into, mask, count=0)


def scattered(scope: Scope) -> Value:
    into = checked(scope, target(scope))
    if not into.rank:
        raise Refused("a rank is needed")
    axis = scope.axis(into)
    rng = scope.rng
    draw = rng.random()
    if draw < 0.6:
        unique = draw < 0.3
        index = index_like(scope, into, axis, unique)
        source = safe(into, into) if rng.random() < 0.2 else f"{into.name}.clone()"
        same = [
            v for v in scope.values if v.dtype == into.dtype and v.shape == into.shape and not shares(v, into)
        ]
        if same and rng.random() < 0.6:
            source = rng.choice(same).name
        name = "scatter_" if unique else "scatter_add_"
        return scope.add(f"{{}}.{name}({axis}, {{}}, {{}})", into, index, source, count=0)
    size = min(t.shape[axis] for t in into.data)
    places = unique_positions(scope, size)
    count = places.count(",") + 1
    if draw < 0.7:
        return scope.add(
            f"{{}}.index_fill_({axis}, {{}}, {1 if not into.is_float else 0.5})", into, places, count=0
        )
    part = scope.add(f"{{}}.narrow({axis}, 0, {count}).clone()", into)
    name = "index_copy_" if draw < 0.85 else "index_add_"
    return scope.add(f"{{}}.{name}({axis}, {{}}, {{}})", into, places, part, count=0)


def products(scope: Scope) -> Value:
    into = scope.pick(lambda v: v.is_float and v.rank in (2, 3) and scope.writable(v))
    other = scope.pick(lambda v: v.dtype == into.dtype and v.rank == into.rank and not shares(v, into))
    name = "addmm_" if into.rank == 2 else "baddbmm_"
    return scope.add(f"{{}}.{name}({{}}, {{}}.transpose(-1, -2))", into, other, other, count=0)


def copied(scope: Scope) -> Value:
    """A write to a copy or to a cheap result, of which a view already exists."""
    value = scope.pick()
    made = scope.add(
        scope.rng.choice(("{}.clone()", "{} * 1", "{} + {}")) if value.dtype != torch.bool else "{}.clone()",
        value,
        value,
    )
    return view_of(scope, made)


def turned(scope: Scope) -> Value:
    """A change of the dims of a tensor in place. Views that exist already keep theirs."""

    def is_own(value: Value) -> bool:
        given = [*scope.modules[0].buffers(), *(v.tensor for v in scope.values[: len(scope.inputs)])]
        return 2 <= value.rank <= 4 and scope.writable(value) and not any(value.tensor is t for t in given)

    into = scope.pick(is_own)
    a, b = scope.rng.sample(range(-into.rank, into.rank), 2)
    choices = [f"{{}}.transpose_({a}, {b})", f"{{}}.swapaxes_({a}, {b})", f"{{}}.unsqueeze_({a})"]
    if into.rank == 2:
        choices.append("{}.t_()")
    if scope.chance(0.5):
        view_of(scope, into)
    return scope.add(scope.rng.choice(choices), into, count=0)


def filled(scope: Scope) -> Value:
    """A loop that fills a tensor line by line, and may read the lines before."""
    value = scope.pick(lambda v: v.is_float and v.rank > 0)
    axis = scope.axis(value, lambda a: not value.dynamic(a) and 1 < value.shape[a] <= 8) % value.rank
    made = scope.add(scope.rng.choice(("torch.zeros_like({})", "{} * 0.5", "{}.clone()")), value)
    reads = scope.chance(0.3)
    before = ":, " * axis
    for i in range(value.shape[axis]):
        line = scope.add(f"torch.tanh({{}}[{before}{i}])", value)
        if reads and i:
            line = scope.add(f"{{}} + {{}}[{before}{i - 1}]", line, made)
        scope.add(f"{{}}[{before}{i}] = {{}}", made, line, count=0)
    return made


OPERATORS: tuple[tuple[Maker, float], ...] = (
    (unary, 1.0),
    (binary, 1.5),
    (assigned, 1.0),
    (masked, 0.4),
    (scattered, 0.6),
    (products, 0.1),
    (copied, 0.8),
    (filled, 0.8),
    (turned, 0.3),
)
