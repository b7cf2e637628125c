"""Matrix products."""

from __future__ import annotations

from tests.torture.scope import Maker, Refused, Scope, Value, rows
from tests.torture.views import view_of

EINSUMS = rows(
    """
    ij,jk->ik; ij,kj->ik; ji,jk->ki; ij,ij->ij; ij,ij->i; ij,ij->; ij,j->i; i,j->ij; ij->ji; ii->i;
    bij,bjk->bik; bij,bkj->bik; bij,jk->bik; abcd,abed->abce; abcd,cd->ab; bhqd,bhkd->bhqk; bij,bij->b;
    ijk->kji; bi,bj->bij; abc,cd->abd; aij,bij->ab; ij,ij,ij->i; ij->i
    """
)


def _factor(scope: Scope, size: int, dtype: str) -> Value:
    """Returns a right factor with `size` rows: a value, a view, or a parameter."""
    fitting = [
        v
        for v in scope.values
        if v.is_float and v.rank >= 2 and not v.dynamic(-2) and v.shape[-2] == size and str(v.dtype) == dtype
    ]
    if fitting and scope.chance(0.6):
        return scope.rng.choice(fitting)
    turned = [
        v
        for v in scope.values
        if v.is_float and v.rank == 2 and not v.dynamic(-1) and v.shape[-1] == size and str(v.dtype) == dtype
    ]
    if turned and scope.chance(0.6):
        return scope.add("{}.t()", scope.rng.choice(turned))
    return scope.parameter([size, scope.rng.choice(scope.sizes)], dtype.split(".")[1])


def matmul(scope: Scope) -> Value:
    value = scope.floating(1)
    if value.dynamic(-1):
        return scope.add("{} @ {}.transpose(-1, -2)", value, value)
    other = _factor(scope, value.shape[-1], str(value.dtype))
    return scope.add(scope.rng.choice(("{} @ {}", "torch.matmul({}, {})")), value, other)


def squared(scope: Scope) -> Value:
    """Products of a value with itself or a view of itself."""
    value = scope.floating(1)
    template = scope.rng.choice(
        (
            "{} @ {}",
            "{} @ {}.mT",
            "{}.mT @ {}",
            "torch.mm({}, {}.t())",
            "torch.bmm({}, {}.transpose(1, 2))",
            "torch.outer({}, {})",
            "torch.inner({}, {})",
        )
    )
    return scope.add(template, value, value)


def linear(scope: Scope) -> Value:
    """A linear layer, often with the weight of another layer."""
    value = scope.pick(lambda v: v.is_float and v.rank >= 1 and not v.dynamic(-1))
    size = value.shape[-1]
    if str(value.dtype) != f"torch.{scope.dtype}":
        raise Refused("another dtype than the modules'")
    rng = scope.rng
    known = [m for m in scope.members if m.expression.startswith(f"nn.Linear({size},")]
    if known and rng.random() < 0.5:
        name = f"self.{rng.choice(known).name}"
        if rng.random() < 0.3:
            return scope.add(f"F.linear({{}}, {name}.weight)", value)
    else:
        width = size if rng.random() < 0.4 else rng.choice((*scope.sizes, 16, 17))
        name = scope.module(f"nn.Linear({size}, {width}{rng.choice(('', '', ', bias=False'))})")
    result = scope.add(f"{name}({{}})", value)
    if rng.random() < 0.4:
        result = scope.add(
            rng.choice(("F.relu({})", "F.gelu({})", "F.silu({})", "torch.tanh({})", "F.hardtanh({})")), result
        )
    return result


def added(scope: Scope) -> Value:
    """addmm, baddbmm and similar operators."""
    a = scope.floating(2, 3)
    if a.dynamic(-1):
        raise Refused("a fixed size is needed")
    b = _factor(scope, a.shape[-1], str(a.dtype))
    product = scope.add("{} @ {}", a, b)
    options = ", ".join(scope.rng.sample(("beta=0.5", "alpha=2", "beta=0"), scope.rng.randint(0, 1)))
    options = f", {options}" if options else ""
    base = product if scope.chance(0.4) else scope.rng.choice([v for v in scope.values if v.dtype == a.dtype])
    name = "addmm" if a.rank == 2 else "baddbmm"
    return scope.add(f"torch.{name}({{}}, {{}}, {{}}{options})", base, a, b)


def einsum(scope: Scope) -> Value:
    equation = scope.rng.choice(EINSUMS)
    terms = equation.split("->")[0].split(",")
    first = scope.pick(lambda v: v.is_float and v.rank == len(terms[0]))
    known = {letter: [t.shape[i] for t in first.data] for i, letter in enumerate(terms[0])}
    operands = [first]
    for term in terms[1:]:

        def fits(v: Value, term: str = term) -> bool:
            return (
                v.dtype == first.dtype
                and v.rank == len(term)
                and all([t.shape[i] for t in v.data] == known[c] for i, c in enumerate(term) if c in known)
            )

        found = [v for v in scope.values if fits(v)]
        if found and scope.chance(0.7):
            operands.append(scope.rng.choice(found))
            continue
        if any(len(set(known[c])) > 1 for c in term if c in known):
            raise Refused("a fixed size is needed")
        sizes = [known[c][0] if c in known else scope.rng.choice(scope.sizes) for c in term]
        operands.append(scope.parameter(sizes, str(first.dtype).split(".")[1]))
    return scope.add(f'torch.einsum("{equation}", {", ".join(["{}"] * len(terms))})', *operands)


def vectors(scope: Scope) -> Value:
    """Products of vectors, or of values with equal last sizes."""
    value = scope.floating(1, 2)
    if scope.chance(0.3):
        value = view_of(scope, value)
    if value.rank == 0:
        raise Refused("a view without dimensions")
    other = scope.pick(lambda v: v.dtype == value.dtype and v.rank >= 1 and v.shape[-1] == value.shape[-1])
    template = scope.rng.choice(
        (
            "torch.dot({}, {})",
            "torch.mv({}, {})",
            "torch.inner({}, {})",
            "torch.tensordot({}, {}, dims=([-1], [-1]))",
            "torch.kron({}, {})",
            "torch.outer({}, {})",
            "torch.linalg.multi_dot([{}, {}.mT])",
        )
    )
    return scope.add(template, value, other)


def bilinear(scope: Scope) -> Value:
    """A bilinear layer of a value with itself."""
    value = scope.pick(lambda v: v.is_float and v.rank >= 1 and not v.dynamic(-1) and v.shape[-1] > 0)
    if str(value.dtype) != f"torch.{scope.dtype}":
        raise Refused("another dtype than the modules'")
    size = value.shape[-1]
    module = scope.module(f"nn.Bilinear({size}, {size}, {scope.rng.randint(1, 4)})")
    return scope.add(f"{module}({{}}, {{}})", value, value)


def attention(scope: Scope) -> Value:
    value = scope.floating(2, 6)
    options = scope.rng.choice(("", ", is_causal=True", ", scale=0.5"))
    return scope.add(f"F.scaled_dot_product_attention({{}}, {{}}, {{}}{options})", value, value, value)


OPERATORS: tuple[tuple[Maker, float], ...] = (
    (matmul, 1.2),
    (squared, 0.6),
    (linear, 1.5),
    (added, 0.5),
    (einsum, 0.6),
    (vectors, 0.4),
    (bilinear, 0.05),
    (attention, 0.2),
)
