"""Reductions, scans, sorting and normalizations."""

from __future__ import annotations

import torch
from tests.torture.scope import Maker, Refused, Scope, Value, rows

AXIS = "sum mean amax amin logsumexp std var prod all any argmax argmin count_nonzero nansum".split()
WHOLE = rows(
    """
    {}.sum(); {}.mean(); {}.amax(); {}.max(); {}.min(); {}.prod(); {}.std(); {}.var(); {}.all(); {}.any();
    {}.argmax(); {}.argmin(); {}.norm(); torch.linalg.vector_norm({}, 1);
    torch.linalg.vector_norm({}, float("inf")); torch.count_nonzero({}); {}.nansum();
    torch.linalg.vector_norm({}, 3); torch.logsumexp({}, tuple(range({}.dim()))); torch.trace({});
    torch.linalg.matrix_norm({})
    """
)
SCANS = "cumsum cumprod logcumsumexp".split()


def reduced(scope: Scope) -> Value:
    """A reduction over one axis, several, or all."""
    value = scope.pick()
    if not value.rank or scope.chance(0.2):
        template = scope.rng.choice(WHOLE)
        return scope.add(template, *(value,) * template.count("{}"))
    name = scope.rng.choice(AXIS)
    axis = scope.axis(value)
    keep = (
        scope.rng.choice(("", ", keepdim=True", ", keepdim=True")) if name not in ("count_nonzero",) else ""
    )
    if (
        name in ("sum", "mean", "amax", "amin", "logsumexp", "std", "var")
        and value.rank > 1
        and scope.chance(0.3)
    ):
        axes = tuple(scope.rng.sample(range(value.rank), 2))
        return scope.add(f"torch.{name}({{}}, {axes}{keep})", value)
    more = ", correction=0" if name in ("std", "var") and scope.chance(0.5) else ""
    if name in ("std", "var"):
        return scope.add(f"torch.{name}({{}}, {axis}{more}{keep})", value)
    return scope.add(f"torch.{name}({{}}, {axis}{keep})", value)


def pairs(scope: Scope) -> Value:
    """Operators with two results."""
    value = scope.pick(lambda v: v.rank > 0)
    axis = scope.axis(value)
    # The mean of eager PyTorch depends on the place of an infinite element.
    if value.is_float and not scope.specials and scope.chance(0.3):
        return scope.add(f"torch.{scope.rng.choice(('var_mean', 'std_mean'))}({{}}, {axis})", value, count=2)
    name = scope.rng.choice(("max", "min", "cummax", "cummin", "aminmax", "frexp"))
    if name == "aminmax":
        return scope.add(f"torch.aminmax({{}}, dim={axis})", value, count=2)
    if name == "frexp":
        return scope.add("torch.frexp({})", value, count=2)
    return scope.add(f"torch.{name}({{}}, {axis})", value, count=2)


def scanned(scope: Scope) -> Value:
    """Cumulative functions along an axis."""
    value = scope.pick(lambda v: v.rank > 0)
    return scope.add(f"torch.{scope.rng.choice(SCANS)}({{}}, {scope.axis(value)})", value)


def distinct(value: Value) -> bool:
    """Whether all numbers are distinct, so that their order is unique."""
    return all(t.numel() == t.unique().numel() and not bool(t.isnan().any()) for t in value.data)


def ordered(scope: Scope) -> Value:
    """sort, topk and others.

    Positions are used only if numbers are distinct, because others are unspecified.
    """
    value = scope.pick(lambda v: v.rank > 0)
    axis = scope.axis(value)
    rng = scope.rng
    size = min(t.shape[axis] for t in value.data)
    draw = rng.random()
    if draw < 0.25:
        return scope.add(
            f"torch.sort({{}}, {axis}, descending={rng.random() < 0.5}, stable=True)".replace(
                "{}, ", "{}, dim=", 1
            ),
            value,
            count=2,
        )
    unique = value.is_float and distinct(value)
    if draw < 0.45:
        return scope.add(f"torch.argsort({{}}, dim={axis}, stable=True)", value)
    count = rng.randint(0 if rng.random() < 0.1 else 1, size) if size else 0
    if draw < 0.75:
        order = f"{{}}, {count}, {axis}, largest={rng.random() < 0.7}"
        if unique:
            return scope.add(f"torch.topk({order})", value, count=2)
        return scope.add(f"torch.topk({order})[0]", value)
    if draw < 0.85 and size:
        return scope.add(f"torch.kthvalue({{}}, {rng.randint(1, size)}, {axis})[0]", value)
    if draw < 0.92:
        return scope.add(
            rng.choice(
                (f"torch.median({{}}, {axis})[0]", "torch.median({})", f"torch.nanmedian({{}}, {axis})[0]")
            ),
            value,
        )
    if not value.is_float:
        raise Refused("quantiles are of floats")
    q = rng.choice(("0.3", "0.5", "1.0", "torch.tensor([0.25, 0.75])"))
    return scope.add(
        rng.choice(
            (f"torch.quantile({{}}, {q}, {axis})", f"torch.nanquantile({{}}, {q}, {axis}, keepdim=True)")
        ),
        value,
    )


def softmaxes(scope: Scope) -> Value:
    """Softmax and related functions along an axis."""
    value = scope.floating(1)
    name = scope.rng.choice(("torch.softmax", "torch.softmax", "torch.log_softmax", "F.softmin"))
    axis = scope.axis(value)
    if name == "torch.softmax" and scope.chance(0.15):
        return scope.add(f"torch.softmax({{}}, {axis}, dtype=torch.float32)", value)
    return scope.add(f"{name}({{}}, {axis})", value)


def normalised(scope: Scope) -> Value:
    """Normalizations with and without weights."""
    value = scope.floating(1)
    rng = scope.rng
    draw = rng.random()
    last = value.shape[-1]
    if scope.chance(0.35):
        return written_norm(scope, value)
    if draw < 0.5 and not value.dynamic(-1):
        if draw < 0.1:
            return scope.add(f"F.layer_norm({{}}, ({last},))", value)
        if draw < 0.2:
            return scope.add(f"F.rms_norm({{}}, ({last},))", value)
        name = "nn.LayerNorm" if draw < 0.4 else "nn.RMSNorm"
        more = ", bias=False" if name == "nn.LayerNorm" and rng.random() < 0.2 else ""
        module = scope.module(f"{name}({last}{more})")
        return scope.add(f"{module}({{}})", value)
    if draw < 0.6:
        return scope.add(f"F.normalize({{}}, dim={scope.axis(value)})", value)
    if value.rank < 2 or value.dynamic(1) or not value.shape[1]:
        raise Refused("channels are needed")
    channels = value.shape[1]
    if draw < 0.8:
        groups = rng.choice([g for g in range(1, channels + 1) if channels % g == 0])
        if groups == channels and all(size == 1 for size in value.shape[2:]):
            raise Refused("rounding alone decides whether a group of one element becomes 0")
        return scope.layer(f"nn.GroupNorm({groups}, {channels})", value)
    if draw < 0.95 and 2 <= value.rank <= 5:
        kind = {2: "1d", 3: "1d", 4: "2d", 5: "3d"}[value.rank]
        return scope.layer(f"nn.BatchNorm{kind}({channels})", value)
    return scope.add("F.instance_norm({})", value)


def written_norm(scope: Scope, value: Value) -> Value:
    """Normalizations that are written as reductions and elementwise operators."""
    rng, axis = scope.rng, scope.axis(value)
    if value.shape[axis] == 1:
        raise Refused("rounding alone decides whether a row of one element becomes 0")
    squares = rng.choice(("{}.pow(2)", "{} * {}"))
    if rng.random() < 0.4:
        x = value
    else:
        x = scope.add(f"{{}} - {{}}.mean({axis}, keepdim=True)", value, value)
    square = scope.add(squares, *[x] * squares.count("{}"))
    if rng.random() < 0.3:
        total = scope.add(f"{{}}.sum({axis}, keepdim=True)", square)
        out = scope.add(f"{{}} / {{}}.sqrt().clamp(min={rng.choice(('1e-12', '0.5'))})", x, total)
    else:
        mean = scope.add(f"{{}}.mean({axis}, keepdim=True)", square)
        text = rng.choice(
            ("{} / torch.sqrt({} + 1e-3)", "{} * torch.rsqrt({} + 1e-3)", "({} + 1e-3) ** -0.5 * {}")
        )
        out = scope.add(text, *((mean, x) if text.startswith("(") else (x, mean)))
    if rng.random() < 0.3 and axis in (-1, value.rank - 1) and not value.dynamic(-1):
        weight = scope.parameter((value.shape[-1],), str(value.dtype).removeprefix("torch."))
        out = scope.add("{} * {} + {}", weight, out, weight)
    return out


def distances(scope: Scope) -> Value:
    """Distances, similarities and losses of two values of one shape."""
    value = scope.floating(1)
    other = scope.pick(lambda v: v.dtype == value.dtype and v.shape == value.shape)
    template = scope.rng.choice(
        (
            "F.cosine_similarity({}, {}, -1)",
            "F.pairwise_distance({}, {})",
            'torch.cdist({}, {}, compute_mode="donot_use_mm_for_euclid_dist")',
            "torch.dist({}, {})",
            "F.mse_loss({}, {})",
            "F.l1_loss({}, {})",
            "F.kl_div({}, {}.abs() + 0.5, reduction='batchmean')",
            "torch.cross({}, {}, dim=-1)",
            "F.binary_cross_entropy_with_logits({}, {}.sigmoid())",
        )
    )
    return scope.add(template, value, other)


def counted(scope: Scope) -> Value:
    """searchsorted, bucketize, one_hot and histograms."""
    value = scope.pick(lambda v: v.rank > 0)
    if value.dtype == torch.int64:
        return scope.add("F.one_hot({} % 4, 4)", value)
    right = scope.rng.choice(("", ", right=True"))
    text = f"torch.bucketize({{}}, torch.tensor([-1.0, -0.25, 0.0, 0.5, 1.0]){right})"
    if scope.chance(0.5) and value.is_float:
        other = scope.pick(
            lambda v: v.dtype == value.dtype and v.shape[:-1] == value.shape[:-1] and v.rank == value.rank
        )
        return scope.add("torch.searchsorted(torch.sort({})[0], {})", other, value)
    return scope.add(text, value)


OPERATORS: tuple[tuple[Maker, float], ...] = (
    (reduced, 2.5),
    (pairs, 0.8),
    (scanned, 0.8),
    (ordered, 1.0),
    (softmaxes, 0.9),
    (normalised, 1.2),
    (distances, 0.3),
    (counted, 0.2),
)
