"""Generates cases. A case depends only on a seed and an index."""

from __future__ import annotations

import random
from collections.abc import Callable

import torch
from tests.torture.case import Case, Dim
from tests.torture.configurations import QUANTIZERS
from tests.torture.graphs import (
    ALIASES,
    CONSTANTS,
    CONTROL,
    CONTROL_STATE,
    IMAGES,
    INT8,
    LAYERS,
    NUMBERS,
    PLAIN,
    SELECTIONS,
    SPECTRA,
    STATE,
    STRIDED,
    arguments,
    graph_inputs,
    grow,
    image_inputs,
    outputs,
)
from tests.torture.image_networks import image_network
from tests.torture.images import convolution
from tests.torture.products import linear
from tests.torture.recurrent import recurrent_network
from tests.torture.scope import Refused, Scope, Value
from tests.torture.sequence_networks import sequence_network


def _graph(scope: Scope) -> Value | None:
    graph_inputs(scope)
    grow(scope, PLAIN, scope.rng.randint(2, 12))
    return None


def _alias(scope: Scope) -> Value | None:
    graph_inputs(scope)
    grow(scope, ALIASES, scope.rng.randint(2, 12))
    return None


def _image_graph(scope: Scope) -> Value | None:
    image_inputs(scope)
    grow(scope, IMAGES, scope.rng.randint(1, 7))
    return None


def _control(scope: Scope) -> Value | None:
    graph_inputs(scope, low_rank=1)
    grow(scope, CONTROL, scope.rng.randint(2, 6))
    return None


def _state(scope: Scope) -> Value | None:
    graph_inputs(scope)
    grow(scope, STATE, scope.rng.randint(3, 9))
    return None


def _control_state(scope: Scope) -> Value | None:
    graph_inputs(scope, low_rank=1)
    grow(scope, CONTROL_STATE, scope.rng.randint(3, 8))
    return None


def _numbers(scope: Scope) -> Value | None:
    scope.mixed = True
    scope.specials = scope.chance(0.6)
    graph_inputs(scope)
    grow(scope, NUMBERS, scope.rng.randint(2, 9))
    return None


def _strided(scope: Scope) -> Value | None:
    graph_inputs(scope, low_rank=1)
    grow(scope, STRIDED, scope.rng.randint(2, 8))
    return None


def _constants(scope: Scope) -> Value | None:
    scope.mixed = True
    graph_inputs(scope)
    grow(scope, CONSTANTS, scope.rng.randint(2, 8))
    return None


def _spectra(scope: Scope) -> Value | None:
    graph_inputs(scope, low_rank=1)
    grow(scope, SPECTRA, scope.rng.randint(1, 5))
    return None


def _selections(scope: Scope) -> Value | None:
    graph_inputs(scope, low_rank=1)
    grow(scope, SELECTIONS, scope.rng.randint(1, 5))
    return None


def _network(build: Callable[[Scope], Value]) -> Callable[[Scope], Value | None]:
    def make(scope: Scope) -> Value | None:
        last = build(scope)
        if scope.chance(0.2):
            grow(scope, ALIASES, scope.rng.randint(1, 3))
        return last

    return make


def _quantized(scope: Scope) -> Value | None:
    draw = scope.rng.random()
    if draw < 0.5:
        _quantized_views(scope)
        return None
    draw = scope.rng.random()
    if draw < 0.4:
        return image_network(scope)
    if draw < 0.7:
        return sequence_network(scope)
    if draw < 0.9:
        image_inputs(scope)
        convolution(scope)
        grow(scope, IMAGES, scope.rng.randint(1, 5))
        return None
    graph_inputs(scope, low_rank=2)
    linear(scope)
    grow(scope, LAYERS, scope.rng.randint(1, 5))
    return None


def _quantized_views(scope: Scope) -> None:
    """Quantized layers, with views, parts and writes before, between and after them."""
    rng = scope.rng
    batch = "b" if scope.dims else rng.choice((1, 2, 3))
    if scope.chance(0.4):
        scope.sizes = tuple(rng.choice((1, 2, 4, 6, 8)) for _ in range(3))
        layout = rng.choice(("contiguous", "contiguous", "channels_last", "transposed", "offset"))
        scope.input((batch, rng.choice((2, 4, 8)), rng.randint(1, 9), rng.randint(1, 9)), layout=layout)
        for _ in range(rng.randint(1, 3)):
            grow(scope, {"views": 1.0, "writes": 0.3}, rng.randint(0, 2))
            convolution(scope)
            grow(scope, {**INT8, "images": 1.5}, rng.randint(0, 3))
        return
    width = rng.choice((4, 8, 16, 32, 64))
    scope.sizes = (width, width, rng.choice((4, 8, 32, 33)))
    scope.input((batch, *([rng.choice((1, 2, 3, 5))] if scope.chance(0.5) else []), width))
    for _ in range(rng.randint(1, 3)):
        grow(scope, {"views": 1.0, "writes": 0.3}, rng.randint(0, 2))
        linear(scope)
        grow(scope, INT8, rng.randint(0, 3))


KINDS: dict[str, tuple[float, Callable[[Scope], Value | None]]] = {
    "graph": (28.0, _graph),
    "alias": (24.0, _alias),
    "image operators": (13.0, _image_graph),
    "image network": (7.0, _network(image_network)),
    "sequence network": (8.0, _network(sequence_network)),
    "recurrent network": (4.0, _network(recurrent_network)),
    "control flow": (5.0, _control),
    "state": (7.0, _state),
    "control and state": (4.0, _control_state),
    "numbers": (10.0, _numbers),
    "int8": (4.0, _quantized),
    "strided": (4.5, _strided),
    "constants": (4.5, _constants),
    "complex": (4.5, _spectra),
    "sizes from data": (4.5, _selections),
}
DYNAMIC = (
    "graph",
    "alias",
    "image operators",
    "image network",
    "sequence network",
    "recurrent network",
    "control flow",
    "state",
    "control and state",
    "numbers",
    "int8",
    "strided",
    "constants",
    "complex",
    "sizes from data",
)


def generate(seed: int, index: int) -> Case:
    """Returns the case of a seed and an index."""
    rng = random.Random(f"{seed}/{index}")
    names = list(KINDS)
    kind = rng.choices(names, [KINDS[name][0] for name in names])[0]
    draw = rng.random()
    dtype = "float16" if draw < 0.06 else "bfloat16" if draw < 0.12 else "float32"
    if kind == "int8":
        dtype = "float32"
    dynamic = kind in DYNAMIC and rng.random() < 0.18
    with torch.no_grad():
        for attempt in range(20):
            scope = Scope(rng, _dims(rng, kind) if dynamic and attempt < 10 else (), dtype)
            quantizer = rng.choice(QUANTIZERS) if kind == "int8" else ""
            scope.specials = kind in ("graph", "alias") and rng.random() < 0.04
            scope.writes_inputs = not quantizer and rng.random() < 0.1
            try:
                last = KINDS[kind][1](scope)
            except Refused:
                continue
            if not scope.statements:
                continue
            state = any(m.kind == "buffer" for m in scope.members)
            label = f"{kind}, dynamic" if scope.dims else f"{kind}, {quantizer}" if quantizer else kind
            return scope.case(
                seed,
                index,
                label,
                outputs(scope, last),
                arguments=arguments(scope),
                state=state,
                quantizer=quantizer,
            )
    raise AssertionError(f"no case for {seed}/{index}")


def _dims(rng: random.Random, kind: str) -> list[Dim]:
    """Returns one or two dynamic dims. The example size is within the bounds and at least two."""
    dims = []
    for name in ("b", "t")[: rng.choice((1, 1, 2))]:
        low = rng.choice((0, 1, 1, 2))
        if (name == "t" and kind != "graph") or kind == "int8":
            low = max(low, 1)
        high = rng.randint(4, 9) if rng.random() < 0.7 else rng.randint(16, 40)
        dims.append(Dim(name, low, high, rng.randint(2, high)))
    return dims
