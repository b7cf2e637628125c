"""Elementwise operators of one, two and three tensors."""

from __future__ import annotations

import torch
from tests.torture.scope import INTEGERS, Maker, Refused, Scope, Value, rows
from tests.torture.views import view_of

FLOAT_UNARY = """
    torch.abs torch.acos torch.acosh torch.asin torch.asinh torch.atan torch.atanh torch.ceil torch.cos
    torch.cosh torch.deg2rad torch.digamma torch.erf torch.erfc torch.erfinv torch.exp torch.exp2
    torch.expm1 torch.floor torch.frac torch.lgamma torch.log torch.log10 torch.log1p torch.log2
    torch.logit torch.neg torch.rad2deg torch.reciprocal torch.round torch.rsqrt torch.sign torch.sgn
    torch.sigmoid torch.sin torch.sinc torch.sinh torch.sqrt torch.square torch.tan torch.tanh
    torch.trunc torch.nan_to_num torch.signbit torch.isnan torch.isinf torch.isfinite torch.logical_not
    torch.relu F.relu F.relu6 F.elu F.selu F.celu F.gelu F.silu F.mish F.hardswish F.hardsigmoid
    F.hardtanh F.leaky_relu F.softplus F.softsign F.tanhshrink F.logsigmoid F.softshrink F.hardshrink
    torch.special.i0 torch.special.ndtr torch.special.entr torch.special.log_ndtr torch.special.expit
    torch.i0
""".split()
FLOAT_UNARY_ATTRIBUTES = rows(
    """
    F.gelu({}, approximate="tanh"); F.leaky_relu({}, 0.25); F.elu({}, 0.5); F.softplus({}, beta=2.0);
    F.threshold({}, 0.1, -1.0); F.hardtanh({}, -0.5, 1.5); torch.clamp({}, -0.5, 0.5);
    torch.clamp({}, min=0.0); torch.clamp({}, max=0.25); torch.round({}, decimals=1); {}.clone();
    {}.contiguous(); {} + 2; {} - 0.5; {} * 0.5; {} * 2; 2 - {}; {} / 3; 1 / {}; {} ** 2; {} ** 3;
    {} ** 0.5; {} ** -1; torch.pow(2, {}); {} // 2; {} % 3; -{}; torch.rsub({}, 1.5, alpha=2); {}.detach();
    torch.dropout({}, 0.5, False); torch.heaviside({}, {}.new_ones(())); {} > 0; {} <= 0.5; {} == 0;
    torch.nan_to_num({}, nan=1.0, posinf=2.0, neginf=-2.0); torch.fmod({}, 1.5); torch.remainder({}, -1.5);
    torch.div({}, 0.3, rounding_mode="floor"); torch.positive({}); torch.floor_divide({}, 0.7);
    torch.float_power({}, 2).float(); {}.ne(0).to({}.dtype); torch.logaddexp({}, {}.new_zeros(()))
    """
)
INTEGER_UNARY = rows(
    """
    torch.abs({}); torch.neg({}); torch.sign({}); torch.square({}); torch.bitwise_not({}); {} + 2; {} * 3;
    {} // 2; {} % 3; {} - 1; torch.clamp({}, -2, 3); {} > 1; {} == 0; {} / 2; torch.sqrt({}.abs());
    torch.exp({} * 0.5); torch.sigmoid({}); {} << 1; {} >> 1; 2 - {}; {} & 3; {} | 4; {} ^ 5;
    torch.fmod({}, 2); torch.div({}, 2, rounding_mode="trunc"); {}.clone(); {} * 0.5; torch.logical_not({});
    torch.bitwise_left_shift({}, 1); torch.relu({}); torch.pow({}, 2); torch.sin({})
    """
)
BOOL_UNARY = rows(
    """
    ~{}; torch.logical_not({}); {}.to(torch.float32); {}.to(torch.int64); {} * 2; {} & True; {}.clone();
    1 - {}.int(); {} * 1.5
    """
)

ANY_BINARY = rows(
    """
    {} + {}; {} - {}; {} * {}; torch.maximum({}, {}); torch.minimum({}, {}); {} == {}; {} != {}; {} < {};
    {} <= {}; {} > {}; {} >= {}; torch.add({}, {}, alpha=2); torch.sub({}, {}, alpha=3);
    torch.logical_and({}, {}); torch.logical_or({}, {}); torch.logical_xor({}, {}); torch.fmax({}, {});
    torch.fmin({}, {}); {}.add({}); torch.mul({}, {}); torch.where({} > 0, {}, 0)
    """
)
FLOAT_BINARY = rows(
    """
    {} / {}; torch.atan2({}, {}); torch.hypot({}, {}); torch.fmod({}, {}); torch.remainder({}, {});
    torch.copysign({}, {}); torch.logaddexp({}, {}); torch.logaddexp2({}, {}); torch.xlogy({}, {}.abs());
    torch.pow({}.abs() + 0.5, {}); {} / ({}.abs() + 1); torch.lerp({}, {}, 0.25); torch.isclose({}, {});
    torch.div({}, {}, rounding_mode="floor"); torch.div({}, {}, rounding_mode="trunc");
    torch.floor_divide({}, {}); torch.ldexp({}, {}); torch.heaviside({}, {}); torch.nextafter({}, {});
    F.prelu({}, {}.reshape(-1)[:1]); torch.special.xlog1py({}, {}.abs()); torch.true_divide({}, {});
    F.mse_loss({}, {}, reduction="none"); F.l1_loss({}, {}, reduction="none");
    F.smooth_l1_loss({}, {}, reduction="none"); F.huber_loss({}, {}, reduction="none");
    torch.where({}.isnan(), 0.0, {})
    """
)
INTEGER_BINARY = rows(
    """
    {} & {}; {} | {}; {} ^ {}; torch.div({}, {} * 2 + 1, rounding_mode="floor"); {} % ({} * 2 + 1);
    torch.bitwise_and({}, {}); torch.bitwise_xor({}, {}); torch.gcd({}, {}); {} // ({} * 2 + 1);
    torch.remainder({}, {} * 2 + 1); torch.fmod({}, {} * 2 + 1);
    torch.bitwise_right_shift({}, {}.clamp(0, 3)); {} << {}.clamp(0, 3); {} / {}
    """
)
BOOL_BINARY = rows(
    "{} & {}; {} | {}; {} ^ {}; torch.logical_and({}, {}); {} == {}; {} != {}; torch.logical_xor({}, {})"
)
TERNARY = rows(
    """
    torch.where({} > 0, {}, {}); torch.addcmul({}, {}, {}); torch.addcmul({}, {}, {}, value=0.5);
    torch.addcdiv({}, {}, {}.abs() + 1); torch.lerp({}, {}, {}); torch.clamp({}, {}, {});
    torch.where({} > {}, {}, 0.5); {} * {} + {}; torch.where({} == {}, {}, 2); {} + {} * {}; ({} - {}) * {};
    torch.addcdiv({}, {}, {}.square() + 0.5, value=-1.0); torch.where({} <= 0.25, {}, {})
    """
)


def broadcast(scope: Scope, value: Value) -> Value:
    """Returns a second operand: the value, a view of it, or a value that broadcasts with it."""
    draw = scope.rng.random()
    if draw < 0.15:
        return value
    if draw < 0.4:
        for _ in range(4):
            try:
                found = view_of(scope, value)
            except Refused:
                continue
            if broadcasts(value, found):
                return found
    if draw < 0.55:
        others = [
            v
            for v in scope.values
            if v.is_float == value.is_float and shares(v, value) and broadcasts(v, value)
        ]
        if others:
            return scope.rng.choice(others)
    if draw < 0.65 and value.is_float and value.rank:
        axis = scope.rng.randrange(value.rank)
        template = scope.rng.choice(
            ("{}.mean({}, keepdim=True)", "{}.amax({}, keepdim=True)", "{}.sum({}, keepdim=True)")
        )
        return scope.add(template, value, str(axis))
    if draw < 0.72 and value.is_float:
        sizes = [1 if value.dynamic(a) or scope.chance(0.3) else n for a, n in enumerate(value.shape)]
        sizes = sizes[scope.rng.randint(0, len(sizes)) :]
        return scope.parameter(sizes)
    others = [v for v in scope.values if broadcasts(v, value)]
    return scope.rng.choice(others)


def broadcasts(a: Value, b: Value) -> bool:
    """Whether the shapes broadcast for all sets of sizes."""
    try:
        for x, y in zip(a.data, b.data, strict=True):
            torch.broadcast_shapes(x.shape, y.shape)
    except RuntimeError:
        return False
    return True


def shares(a: Value, b: Value) -> bool:
    """Whether two values share their storage."""
    return a.tensor.untyped_storage().data_ptr() == b.tensor.untyped_storage().data_ptr()


def unary(scope: Scope) -> Value:
    value = scope.pick()
    if value.is_float:
        if scope.chance(0.6):
            template = scope.rng.choice(FLOAT_UNARY) + "({})"
        else:
            template = scope.rng.choice(FLOAT_UNARY_ATTRIBUTES)
    else:
        template = scope.rng.choice(BOOL_UNARY if value.dtype == torch.bool else INTEGER_UNARY)
    operands = (value,) * template.count("{}")
    try:
        return scope.add(template, *operands)
    except Refused:
        if not value.is_float:
            raise
    inside = scope.add(
        scope.rng.choice(("torch.sigmoid({})", "{}.abs() + 1", "torch.tanh({})", "{}.square() + 0.5")), value
    )
    return scope.add(template, *(inside,) * template.count("{}"))


def binary(scope: Scope) -> Value:
    a = scope.pick()
    b = broadcast(scope, a)
    if scope.chance(0.3):
        a, b = b, a
    table = ANY_BINARY
    if scope.chance(0.5):
        if a.is_float and b.is_float:
            table = FLOAT_BINARY
        elif a.dtype in INTEGERS and b.dtype in INTEGERS:
            table = INTEGER_BINARY
        elif a.dtype == b.dtype == torch.bool:
            table = BOOL_BINARY
    return scope.add(scope.rng.choice(table), a, b)


def ternary(scope: Scope) -> Value:
    a = scope.floating()
    operands = [a, broadcast(scope, a), broadcast(scope, a)]
    scope.rng.shuffle(operands)
    return scope.add(scope.rng.choice(TERNARY), *operands)


def chain(scope: Scope) -> Value:
    """Adds several cheap operators in a row, which backends fuse."""
    value = scope.floating()
    for _ in range(scope.rng.randint(2, 4)):
        value = scope.add(
            scope.rng.choice(("{} * 2", "{} + 1", "torch.relu({})", "torch.tanh({})", "-{}", "F.silu({})")),
            value,
        )
    return value


def cast(scope: Scope) -> Value:
    value = scope.pick()
    kinds = ["float32", "float32", "float16", "bfloat16", "int64", "int32", "bool", "int8", "uint8", "int16"]
    name = scope.rng.choice(kinds)
    dtype = getattr(torch, name)
    if dtype in INTEGERS and value.dtype != torch.bool:
        bounds = torch.iinfo(dtype)
        for tensor in value.data:
            if tensor.numel() and not (bounds.min < tensor.min().item() and tensor.max().item() < bounds.max):
                raise Refused("out of the range of the dtype")
    short = {"float32": "float", "float16": "half", "bfloat16": "bfloat16", "int64": "long", "bool": "bool"}
    if name in short and scope.chance(0.3):
        return scope.add(f"{{}}.{short[name]}()", value)
    return scope.add(f"{{}}.to(torch.{name})", value)


def cast_like(scope: Scope) -> Value:
    value = scope.floating()
    return scope.add("{}.to({}.dtype)", value, scope.floating())


OPERATORS: tuple[tuple[Maker, float], ...] = (
    (unary, 3.0),
    (binary, 4.0),
    (ternary, 1.2),
    (chain, 1.0),
    (cast, 0.5),
    (cast_like, 0.2),
)
