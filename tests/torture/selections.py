"""Results whose size depends on data, and operators of them."""

from __future__ import annotations

from tests.torture.case import Function, Statement
from tests.torture.scope import Maker, Scope, Value, rows

CONDITIONS = rows("{} > 0; {} < 0.5; {} >= {}.mean(); {}.abs() > 0.3; {} != 0; {} > 100")
SELECTED = rows(
    """
    a[m]; torch.masked_select(a, m); torch.nonzero(m)[:, 0].to(a.dtype); a.reshape(-1)[m.reshape(-1)];
    torch.where(m)[0] * 0.5; torch.nonzero(m).sum(-1).to(a.dtype); torch.unique(m.long()).to(a.dtype);
    a.reshape(-1).repeat_interleave(m.reshape(-1).long());
    a.reshape(-1)[torch.nonzero(m.reshape(-1)).squeeze(-1)]
    """
)
SIZED = rows(
    """
    a.reshape(-1)[:n]; torch.zeros(n) + a.sum(); torch.arange(n) * 0.5; a.reshape(-1).narrow(0, 0, n);
    torch.full((n,), 0.25); torch.ones(n, 3).sum(-1); a.new_ones(n) * a.mean(); torch.arange(n, 0, -1) * 1.0;
    a.reshape(-1).clone()[:n].mul_(2); torch.cat([a.reshape(-1)[:n], a.reshape(-1)]);
    torch.cat([torch.zeros(n), a.reshape(-1)]); a.reshape(-1)[n:]
    """
)
STEPS = rows(
    """
    {} * 2; torch.relu({}); {} - {}.sum(); torch.cat([{}, {}]); torch.cat([{}, a.reshape(-1).to({}.dtype)]);
    {}.flip(0); {}.cumsum(0) * 0.1; {} * {}; {}.clone().mul_(2); {}.repeat(2); torch.where({} > 0, {}, 0);
    F.pad({}, (1, 2)); torch.softmax({}, 0); {}[:, None].expand(-1, 3).sum(1); {}.sort()[0]; {} + 1;
    torch.stack([{}, {}]).sum(0); ({}[:, None] * torch.ones(1, 4)).mean(1); {}.unsqueeze(0).squeeze(0);
    {}.reshape(1, -1)[0]; torch.sigmoid({}) * {}; {}.clamp(-1, 1); torch.tanh({}) + {};
    {}[None, :, None].sum((0, 2))
    """
)
RESULTS = rows(
    """
    {}.sum(); ({} > 0).sum(); torch.cat([{}, torch.zeros(1, dtype={}.dtype)]).max(); {}.square().sum();
    torch.cat([{}, torch.ones(1, dtype={}.dtype)]).mean(); F.pad({}, (0, 3))[:3]; {}.exp().sum() * a
    """
)


def selection(scope: Scope) -> Value:
    """A part of a value that data selects, some operators of it, and a result with a size that is known.

    Often the part itself is an output, too.
    """
    value = scope.floating(1)
    rng = scope.rng
    condition = rng.choice(CONDITIONS)
    made = [Statement(condition, ("a",) * condition.count("{}"), ("m",))]
    if rng.random() < 0.5:
        made.append(Statement("m.sum().item()", (), ("n",)))
        made.append(Statement("torch._check(n >= 0)", ()))
        made.append(Statement("torch._check(n <= a.numel())", ()))
        made.append(Statement(rng.choice(SIZED), (), ("y0",)))
    else:
        made.append(Statement(rng.choice(SELECTED), (), ("y0",)))
    return _continued(scope, value, made)


def placed(scope: Scope) -> Value:
    """Rows of a value from a position that is an input, or that data gives."""
    value = scope.pick(lambda v: v.is_float and v.rank > 0 and not v.dynamic(0) and v.shape[0] > 1)
    rng = scope.rng
    size = value.shape[0]
    count = rng.randint(1, size - 1)
    position = f"((a.sum() * 7).abs().long() % {size - count + 1}).item()"
    made = [
        Statement(position, (), ("n",)),
        Statement("torch._check(n >= 0)", ()),
        Statement(f"torch._check(n + {count} <= {size})", ()),
    ]
    template = rng.choice(
        (
            f"a[n:n + {count}].reshape(-1)",
            f"a.narrow(0, n, {count}).reshape(-1)",
            "a[n].reshape(-1)",
            f"torch.slice_scatter(a, a[:{count}] * 2, 0, n, n + {count}).reshape(-1)",
        )
    )
    if rng.random() < 0.3:
        made.append(Statement("a.clone()", (), ("b",)))
        made.append(Statement(f"b[n:n + {count}] {rng.choice(('*=', '+=', '='))} 2", ()))
        template = "b.reshape(-1)"
    made.append(Statement(template, (), ("y0",)))
    return _continued(scope, value, made)


def _continued(scope: Scope, value: Value, made: list[Statement]) -> Value:
    """Adds a function of the statements, of some operators of `y0`, and of a reduction."""
    rng = scope.rng
    name = "y0"
    for place in range(rng.randint(0, 3)):
        template = rng.choice(STEPS)
        made.append(Statement(template, (name,) * template.count("{}"), (f"y{place + 1}",)))
        name = f"y{place + 1}"
    template = rng.choice(RESULTS)
    made.append(Statement(template, (name,) * template.count("{}"), ("r",)))
    function = Function(scope.fresh("f"), ("a",), tuple(made), ("r", name))
    result = scope.add(f"{function.name}({{}})", value, count=2, functions=(function,))
    scope.selected.append(scope.values.pop())
    return result


OPERATORS: tuple[tuple[Maker, float], ...] = ((selection, 2.0), (placed, 1.0))
