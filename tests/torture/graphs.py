"""Random graphs of single operators."""

from __future__ import annotations

from tests.torture import (
    constants,
    control,
    creation,
    elementwise,
    images,
    indexing,
    numbers,
    products,
    reductions,
    selections,
    spectra,
    state,
    strided,
    views,
    writes,
)
from tests.torture.case import Size, Tree
from tests.torture.scope import Maker, Refused, Scope, Value

Table = tuple[tuple[Maker, float], ...]

GROUPS: dict[str, Table] = {
    "elementwise": elementwise.OPERATORS,
    "views": views.OPERATORS,
    "reductions": reductions.OPERATORS,
    "products": products.OPERATORS,
    "images": images.OPERATORS,
    "indexing": indexing.OPERATORS,
    "writes": writes.OPERATORS,
    "creation": creation.OPERATORS,
    "control": control.OPERATORS,
    "numbers": numbers.OPERATORS,
    "state": state.OPERATORS,
    "strided": strided.OPERATORS,
    "constants": constants.OPERATORS,
    "spectra": spectra.OPERATORS,
    "selections": selections.OPERATORS,
}

PLAIN = {
    "elementwise": 4.0,
    "views": 2.5,
    "reductions": 2.0,
    "products": 1.5,
    "indexing": 1.5,
    "creation": 0.5,
    "writes": 0.5,
}
ALIASES = {
    "elementwise": 3.0,
    "views": 4.0,
    "writes": 3.0,
    "reductions": 0.7,
    "products": 0.7,
    "indexing": 1.5,
}
IMAGES = {"images": 5.0, "elementwise": 2.0, "views": 0.7, "reductions": 0.7, "writes": 0.3}
LAYERS = {"products": 3.0, "elementwise": 1.5, "views": 1.0, "reductions": 0.7}
CONTROL = {"control": 2.0, "elementwise": 2.0, "views": 1.0, "reductions": 0.7}
CONTROL_STATE = {"control": 2.0, "state": 1.5, "writes": 1.5, "views": 1.5, "elementwise": 1.0}
NUMBERS = {"numbers": 5.0, "elementwise": 2.0, "views": 0.7, "reductions": 1.0, "writes": 0.5}
INT8 = {"products": 2.0, "views": 3.0, "elementwise": 1.5, "writes": 1.0, "reductions": 0.3}
STRIDED = {"strided": 3.0, "views": 2.0, "elementwise": 1.5, "writes": 1.0, "state": 0.3}
CONSTANTS = {"constants": 3.0, "elementwise": 1.5, "views": 1.0, "numbers": 0.5, "writes": 0.5}
SPECTRA = {"spectra": 2.0, "elementwise": 1.0, "views": 1.0, "writes": 0.5}
SELECTIONS = {"selections": 2.0, "elementwise": 1.0, "views": 1.0, "writes": 0.5, "state": 0.3}
STATE = {"state": 2.0, "elementwise": 2.0, "views": 1.0, "writes": 1.5, "indexing": 0.5}

SIZES = (1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 16, 17, 33)
DTYPES = (
    "float32",
    "float32",
    "float16",
    "bfloat16",
    "int64",
    "int64",
    "int32",
    "bool",
    "uint8",
    "int8",
    "int16",
)
LAYOUTS = ("transposed", "strided", "offset", "expanded")


def grow(scope: Scope, groups: dict[str, float], count: int) -> None:
    """Adds about `count` statements from random groups of operators, which have weights."""
    names, weights = list(groups), list(groups.values())
    for _ in range(count):
        for _ in range(6):
            table = GROUPS[scope.rng.choices(names, weights)[0]]
            makers, chances = zip(*table, strict=True)
            maker: Maker = scope.rng.choices(makers, chances)[0]
            try:
                maker(scope)
            except Refused:
                continue
            break


def graph_inputs(scope: Scope, low_rank: int = 0, high_rank: int = 4) -> None:
    """Adds one to three inputs with related shapes, and sometimes a number.

    Some are empty, have other dtypes or are not contiguous.

    Args:
        scope: the scope, which has no inputs yet.
        low_rank: the lowest rank of the first input.
        high_rank: the highest rank of an input without dynamic dims.
    """
    rng = scope.rng
    scope.sizes = tuple(rng.choice(SIZES) for _ in range(3))
    shape = _first_shape(scope, low_rank, high_rank)
    for i in range(rng.choice((1, 2, 2, 3))):
        sizes = _related_shape(scope, shape, low_rank) if i else shape
        dtype = scope.dtype if rng.random() < 0.8 or (i == 0 and rng.random() < 0.9) else rng.choice(DTYPES)
        values = rng.choice(("normal", "normal", "normal", "positive", "unit"))
        layout = rng.choice(LAYOUTS) if rng.random() < 0.2 else "contiguous"
        if len(sizes) >= 4 and rng.random() < 0.25:
            layout = "channels_last"
        if scope.specials and "float" in dtype:
            values = "special"
        scope.input(sizes, dtype, values, layout)
    if rng.random() < 0.04:
        scope.input((), values=f"number {rng.choice(('2', '0.5', '3', 'True'))}")


def _first_shape(scope: Scope, low_rank: int, high_rank: int) -> list[Size]:
    """Returns the shape of the first input: sizes of the scope, and all dynamic dims."""
    rng = scope.rng
    is_empty = rng.random() < 0.03
    shape: list[Size] = [rng.choice(scope.sizes) for _ in range(rng.choice((0, 1, 2, 2, 2, 3, 3, 4)))]
    shape = shape[:high_rank] + [rng.choice(scope.sizes[:2]) for _ in range(low_rank - len(shape))]
    if is_empty and shape:
        shape[rng.randrange(len(shape))] = 0
    for dim in scope.dims:
        axis = rng.randrange(len(shape)) if len(shape) > 1 and rng.random() < 0.3 else 0
        size = dim.name if rng.random() < 0.85 else rng.choice((f"2*{dim.name}", f"{dim.name}+1"))
        if shape and isinstance(shape[axis], str):
            shape.append(size)  # the axis has another dynamic dim already
        else:
            shape[axis : axis + 1] = [size]
    return shape


def _related_shape(scope: Scope, shape: list[Size], low_rank: int) -> list[Size]:
    """Returns the shape of another input: one that broadcasts with `shape`, another one, or `shape`."""
    rng = scope.rng
    if rng.random() < 0.5:
        broadcast: list[Size] = [1 if rng.random() < 0.3 else size for size in shape]
        return broadcast[rng.randint(0, len(shape)) :]
    if not scope.dims and rng.random() < 0.5:
        return [rng.choice(scope.sizes) for _ in range(rng.randint(low_rank, 3))]
    return shape


def image_inputs(scope: Scope) -> None:
    """Adds one input of rank 3, 4 or 5, in most cases 4."""
    rng = scope.rng
    scope.sizes = tuple(rng.choice((1, 2, 3, 4, 6, 8)) for _ in range(3))
    rank = rng.choice((3, 4, 4, 4, 4, 5))
    known = [d.name for d in scope.dims]
    batch: Size = "b" if "b" in known else rng.choice((1, 1, 2, 3))
    largest = {3: 20, 4: 11, 5: 6}[rank]
    inner: list[Size] = [rng.randint(1, largest) if rng.random() < 0.85 else 1 for _ in range(rank - 2)]
    if "t" in known:
        inner[rng.randrange(len(inner))] = "t"
    layout = (
        "channels_last"
        if rng.random() < 0.3
        else rng.choice(("contiguous", "contiguous", "contiguous", *LAYOUTS))
    )
    scope.input((batch, rng.choice((1, 2, 3, 4, 6, 8, 16)), *inner), layout=layout)


def outputs(scope: Scope, last: Value | None = None) -> Tree:
    """Returns the outputs of forward: mostly late values, sometimes inputs, duplicates, nested structures."""
    rng = scope.rng
    made = scope.values[len(scope.inputs) :] or scope.values
    unused = [v for v in made if not any(v.name in s.operands for s in scope.statements)]
    chosen = [last or (unused or made)[-1], *(v for v in scope.selected if rng.random() < 0.6)]
    for _ in range(rng.choice((0, 0, 1, 1, 2, 3, 4, 5))):
        draw = rng.random()
        if draw < 0.6 and unused:
            chosen.append(rng.choice(unused))
        elif draw < 0.85:
            chosen.append(rng.choice(made))
        elif draw < 0.93:
            chosen.append(rng.choice(scope.values))
        else:
            chosen.append(rng.choice(chosen))
    names = [v.name for v in chosen]
    if len(names) == 1:
        return names[0] if rng.random() < 0.8 else names
    draw = rng.random()
    if draw < 0.75:
        return names
    if draw < 0.9:
        return {f"k{i}": name for i, name in enumerate(names)}
    return [names[0], {"rest": names[1:]}]


def arguments(scope: Scope) -> tuple[Tree, ...]:
    """Returns the grouping of inputs into arguments. It is empty if each input is one argument."""
    names = [i.name for i in scope.inputs]
    if len(names) < 2 or scope.rng.random() < 0.85:
        return ()
    cut = scope.rng.randrange(len(names) - 1)
    group = names[cut:]
    kind: Tree = group if scope.rng.random() < 0.6 else {f"a_{name}": name for name in group}
    return (*names[:cut], kind)
