"""`as_strided`: windows into the memory of a value, and writes through them."""

from __future__ import annotations

from tests.torture.elementwise import shares
from tests.torture.scope import Maker, Refused, Scope, Value

COPIES = ("{} * 2", "{}.clone()", "{}.transpose(0, -1) * 1", "{}.transpose(0, -1).clone()", "torch.relu({})")
UPDATES = (".mul_(2)", ".add_(1)", ".zero_()", ".neg_()", ".copy_(torch.ones(()))", ".fill_(3)")


def _memory(scope: Scope, value: Value) -> int:
    """Returns the number of elements in the memory of a value, whose strides do not depend on sizes.

    The memory of an input with gaps or with a start does not belong to its program.
    """
    if not value.fixed or len({(t.stride(), t.storage_offset()) for t in value.data}) > 1:
        raise Refused("fixed sizes and strides are needed")
    for place, given in enumerate(scope.inputs):
        made = next(v for v in scope.values if v.name == given.name) if given.shape else None
        if made is not None and shares(made, value) and scope.inputs[place].layout not in DENSE:
            raise Refused("the memory of the input has gaps or a start")
    return min(t.untyped_storage().nbytes() // t.itemsize for t in value.data)


DENSE = ("contiguous", "transposed", "channels_last")


def _window(scope: Scope, value: Value, *, distinct: bool) -> tuple[list[int], str]:
    """Returns the sizes of a window, and the arguments of `as_strided` for it.

    Args:
        scope: the scope.
        value: the source.
        distinct: whether the elements of the window are at different places.
    """
    count = _memory(scope, value)
    rng = scope.rng
    start = value.tensor.storage_offset()
    explicit = rng.random() < 0.5
    if explicit and count:
        start = rng.randrange(count)
    room = count - start
    if room < 1:
        raise Refused("no memory")
    sizes, strides = [], []
    step, last = 1, 0
    for _ in range(rng.randint(1, 3)):
        stride = step + rng.randint(0, 2) if distinct else rng.choice((0, 1, 1, 2, 3, step))
        most = 4 if stride == 0 else min(5, 1 + (room - 1 - last) // stride)
        size = rng.randint(1, most)
        sizes.append(size)
        strides.append(stride)
        last += (size - 1) * stride
        step = last + 1
    order = list(range(len(sizes)))
    rng.shuffle(order)
    sizes, strides = [sizes[i] for i in order], [strides[i] for i in order]
    offset = f", {start}" if explicit else ""
    return sizes, f"{_tuple(sizes)}, {_tuple(strides)}{offset}"


def _tuple(numbers: list[int]) -> str:
    return f"({', '.join(map(str, numbers))},)"


def strided(scope: Scope, value: Value) -> Value:
    """A view with strides, in which elements may occur several times."""
    _, window = _window(scope, value, distinct=False)
    return scope.add(f"{{}}.as_strided({window})", value)


def read(scope: Scope) -> Value:
    return strided(scope, scope.pick())


def written(scope: Scope) -> Value:
    """A window of a new value that is written in place. The value may have a view already."""
    made = scope.add(scope.rng.choice(COPIES), scope.pick(lambda v: v.rank > 0))
    if scope.chance(0.4):
        scope.add(scope.rng.choice(("{}.transpose(0, -1)", "{}[..., :1]", "{}[0]")), made)
    _, window = _window(scope, made, distinct=True)
    scope.add(f"{{}}.as_strided({window}){scope.rng.choice(UPDATES)}", made, count=0)
    return made


def scattered(scope: Scope) -> Value:
    """A window of a value, often of a view, that other values replace."""
    value = scope.pick()
    sizes, window = _window(scope, value, distinct=True)
    source = scope.add(f"{{}}.sum().expand({_tuple(sizes)}).to({{}}.dtype)", scope.pick(), value)
    return scope.add(f"torch.as_strided_scatter({{}}, {{}}, {window})", value, source)


OPERATORS: tuple[tuple[Maker, float], ...] = ((read, 2.0), (written, 2.0), (scattered, 1.0))
