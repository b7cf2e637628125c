"""Control flow: cond, while_loop, map and scan, with captured values and small bodies."""

from __future__ import annotations

from tests.torture.case import Function, Statement
from tests.torture.elementwise import shares
from tests.torture.scope import Maker, Scope, Value, rows

KEEPING = rows(
    """
    {} * 2; {} + 1; torch.relu({}); torch.tanh({}); {} - {}.mean(); {}.flip(0); torch.sigmoid({}); {} + {};
    {} * {}.abs(); -{}; {}.cos(); torch.softmax({}, -1); torch.maximum({}, {}.flip(0));
    torch.roll({}, 1, 0); {} * 0.5; torch.cumsum({}, 0) * 0.25; {}.clamp(-1, 1)
    """
)
ALIASING = rows(
    """
    {}.clone().mul_(2); torch.cat([{}[1:], {}[:1]]); torch.stack({}.unbind(-1), -1); {}.clone().fill_(0.5);
    {}.unsqueeze(0).expand(2, *{}.shape)[1]; {}.reshape(-1).view({}.shape); {}.view_as({}); {}[:];
    {}.transpose(0, -1).transpose(-1, 0); torch.stack([{}, {}])[1]; {}.flip(0).flip(0); {}.detach();
    torch.cat(torch.split({}, 1, 0)[::-1]); {}.clone().add_({}.flip(0)); {}.clone().copy_({}[:1])
    """
)
WRITES = rows(
    "{}[:1] += 1; {}[..., -1] = 0; {}[:].mul_(0.5); {}.transpose(0, -1)[:1].neg_(); {}[::2] *= {}[::2]"
)


def body(scope: Scope, argument: str, result: str, captured: Value | None = None) -> tuple[Statement, ...]:
    """Returns some statements that compute `result` from `argument`, with the same shape and dtype."""
    made: list[Statement] = []
    name = argument
    for _ in range(scope.rng.randint(1, 3)):
        template = scope.rng.choice((*KEEPING, *ALIASING))
        new = scope.fresh("w")
        made.append(Statement(template, (name,) * template.count("{}"), (new,)))
        name = new
        if scope.chance(0.2):
            new = scope.fresh("w")
            made.append(Statement(scope.rng.choice(("{}.clone()", "{} * 2")), (name,), (new,)))
            template = scope.rng.choice(WRITES)
            made.append(Statement(template, (new,) * template.count("{}")))
            name = scope.fresh("w")
            made.append(Statement(scope.rng.choice(("{}.view_as({})", "{} + {}")), (new, new), (name,)))
    if captured is not None:
        new = scope.fresh("w")
        made.append(
            Statement(
                scope.rng.choice(("{} + {}", "{} * {}", "torch.maximum({}, {})")),
                (name, captured.name),
                (new,),
            )
        )
        name = new
    made.append(Statement("{} * 1.0", (name,), (result,)))
    return tuple(made)


def _writing(scope: Scope, statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Returns a body that also writes to its operand `c`."""
    template = scope.rng.choice((*WRITES, "{}.mul_(0.5)", "{}.copy_({}.flip(0))"))
    write = Statement(template, ("c",) * template.count("{}"))
    place = scope.rng.randint(0, len(statements))
    return (*statements[:place], write, *statements[place:])


def _written_operand(scope: Scope, value: Value) -> Value | None:
    """Returns a value or a buffer to which a body may write, and which shares no memory with `value`."""
    if scope.chance(0.3):
        return scope.add(scope.member("buffer", f"torch.randn({scope.rng.choice(([3], [2, 3], [4, 1]))})"))
    found = [v for v in scope.values if v.is_float and v.rank and scope.writable(v) and not shares(v, value)]
    return scope.rng.choice(found) if found else None


def _captured(scope: Scope, value: Value) -> Value | None:
    """Returns a value of the same shape and dtype for a body: often a view, or a buffer."""
    draw = scope.rng.random()
    if draw < 0.1 and value.fixed:
        cast = f"dtype={value.dtype}"
        return scope.add(scope.member("buffer", f"torch.ones({list(value.shape)}, {cast})"))
    if draw < 0.2:
        template = scope.rng.choice(("{}.view_as({})", "{}[:1].expand_as({})", "{}[:]"))
        return scope.add(template, *(value,) * template.count("{}"))
    found = [v for v in scope.values if v.shape == value.shape and v.dtype == value.dtype]
    return scope.rng.choice(found) if found and scope.chance(0.4) else None


def cond(scope: Scope) -> Value:
    value = scope.floating(1)
    condition = scope.add(scope.rng.choice(("{}.sum() > 0", "{}.mean() < 0.1", "{}.max() > 1")), value)
    written = _written_operand(scope, value) if scope.chance(0.3) else None
    functions = []
    for _ in range(2):
        name, result = scope.fresh("f"), scope.fresh("r")
        statements = body(scope, "a", result, None if written else _captured(scope, value))
        if written is not None and scope.chance(0.6):
            statements = _writing(scope, statements)
        functions.append(Function(name, ("a", "c"), statements, (result,)))
    names = [f.name for f in functions]
    other = written or scope.floating()
    text = f"torch.cond({{}}, {names[0]}, {names[1]}, ({{}}, {{}}))"
    return scope.add(text, condition, value, other, functions=tuple(functions))


def while_loop(scope: Scope) -> Value:
    value = scope.floating(1)
    step, test = scope.fresh("f"), scope.fresh("f")
    count = scope.rng.choice(("2", "3", "0"))
    if scope.chance(0.4) and len(scope.inputs) < 5:
        count = scope.input((), "int64", "index 4").name
    result = scope.fresh("r")
    functions = (
        Function(test, ("i", "a"), (Statement(f"i < {count}", (), ("t",)),), ("t",)),
        Function(
            step,
            ("i", "a"),
            (*body(scope, "a", result, _captured(scope, value)), Statement("i + 1", (), ("j",))),
            ("j", result),
        ),
    )
    text = f"torch.while_loop({test}, {step}, (torch.tensor(0), {{}}))"
    scope.add(text, value, functions=functions, count=2)
    return scope.values[-1]


def mapped(scope: Scope) -> Value:
    value = scope.pick(lambda v: v.is_float and v.rank >= 2 and all(t.shape[0] > 0 for t in v.data))
    name, result = scope.fresh("f"), scope.fresh("r")
    other = (
        scope.pick(lambda v: v.is_float and v.dtype == value.dtype and v.shape == value.shape[1:])
        if scope.chance(0.3)
        else None
    )
    arguments = ("a",) if other is None else ("a", "c")
    statements = body(scope, "a", result)
    if other is not None:
        statements = (Statement("{} + {}", ("a", "c"), ("d",)), *body(scope, "d", result))
    text = f"torch._higher_order_ops.map({name}, {{}}{'' if other is None else ', {}'})"
    operands = (value,) if other is None else (value, other)
    return scope.add(text, *operands, functions=(Function(name, arguments, statements, (result,)),))


def scanned(scope: Scope) -> Value:
    value = scope.pick(lambda v: v.is_float and v.rank >= 2 and all(t.shape[0] > 0 for t in v.data))
    name, result = scope.fresh("f"), scope.fresh("r")
    first = scope.add(scope.rng.choice(("{}[0] * 0", "{}[-1] + 1", "{}.mean(0)")), value)
    statements = (
        Statement("{} * 0.5 + {}", ("a", "x"), ("d",)),
        *body(scope, "d", result),
        Statement("d * x", (), ("y",)),
    )
    text = f"torch._higher_order_ops.scan({name}, {{}}, {{}})"
    return scope.add(
        text, first, value, count=2, functions=(Function(name, ("a", "x"), statements, (result, "y")),)
    )


OPERATORS: tuple[tuple[Maker, float], ...] = ((cond, 2.0), (while_loop, 1.0), (mapped, 0.7), (scanned, 0.7))
