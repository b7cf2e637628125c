"""Recurrent networks: torch's modules, and loops over cells."""

from __future__ import annotations

from tests.torture.scope import Scope, Value


def recurrent_network(scope: Scope) -> Value:
    rng = scope.rng
    batch_first = scope.chance(0.6)
    batch = "b" if any(d.name == "b" for d in scope.dims) else rng.choice((1, 2, 3))
    length, width, hidden = rng.choice((1, 2, 3, 5)), rng.choice((1, 3, 5, 8)), rng.choice((2, 4, 7, 8))
    x = scope.input((batch, length, width) if batch_first else (length, batch, width))
    if scope.chance(0.25):
        return _cells(scope, x, batch_first, width, hidden)
    kind = rng.choice(("LSTM", "LSTM", "GRU", "RNN"))
    layers, both = rng.choice((1, 1, 2)), scope.chance(0.35)
    options = [f"num_layers={layers}"] if layers > 1 else []
    options += ["batch_first=True"] if batch_first else []
    options += ["bidirectional=True"] if both else []
    options += ["bias=False"] if scope.chance(0.15) else []
    options += ['nonlinearity="relu"'] if kind == "RNN" and scope.chance(0.3) else []
    if kind == "LSTM" and scope.chance(0.1) and hidden > 2:
        options.append("proj_size=2")
    module = scope.module(f"nn.{kind}({', '.join([str(width), str(hidden), *options])})")
    rows = layers * (2 if both else 1)
    states: list[Value] = []
    if scope.chance(0.3) and "proj_size=2" not in options:
        states = [scope.input((rows, batch, hidden)) for _ in range(2 if kind == "LSTM" else 1)]
    given = {0: "{}", 1: "{}, {}", 2: "{}, ({}, {})"}[len(states)]
    if kind == "LSTM":
        out = scope.add(f"{module}({given})", x, *states, results="{}, ({}, {})", count=3)
    else:
        out = scope.add(f"{module}({given})", x, *states, count=2)
    draw = rng.random()
    if draw < 0.3:
        out = scope.add("{}[:, -1]" if batch_first else "{}[-1]", out)
    elif draw < 0.6:
        out = scope.layer(f"nn.Linear({out.shape[-1]}, 3)", out)
    elif draw < 0.7:
        out = scope.add("{}.transpose(0, 1)", out)
    return out


def _cells(scope: Scope, x: Value, batch_first: bool, width: int, hidden: int) -> Value:
    kind = scope.rng.choice(("LSTMCell", "GRUCell", "RNNCell"))
    module = scope.module(f"nn.{kind}({width}, {hidden})")
    axis = 1 if batch_first else 0
    state: tuple[Value, ...] = ()
    steps = []
    for i in range(x.shape[axis]):
        part = scope.add(f"{{}}.select({axis}, {i})", x)
        if kind == "LSTMCell":
            given = "({}, {})" if not state else "({}, ({}, {}))"
            h = scope.add(f"{module}{given}", part, *state, count=2)
            state = (h, scope.values[-1])
        else:
            h = scope.add(f"{module}{'({}, {})' if state else '({})'}", part, *state)
            state = (h,)
        steps.append(h)
    return scope.add(f"torch.stack([{', '.join(['{}'] * len(steps))}], {axis})", *steps)
