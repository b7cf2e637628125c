"""Mixed dtypes, and operators of infinities, NaN, negative zero and negative integers."""

from __future__ import annotations

import torch
from tests.torture.elementwise import broadcast
from tests.torture.scope import INTEGERS, Maker, Scope, Value, rows

FLOAT = rows(
    """
    {} * 0; {} - {}; {} / {}; {} * 1; {} + 0; {} - 0; 0 - {}; -(-{}); {} * -1; 1 / {};
    torch.clamp({}, 1, -1); torch.clamp({}, None, 0.5); torch.clamp({}, -0.0, 0.0); {} ** 0; {} ** 1;
    {} ** 0.5; {} ** -0.5; {} ** -2; {} ** 1.5; torch.pow(0, {}); torch.pow(1, {}); torch.pow(-1, {});
    torch.pow(2, {}); {} ** float("inf"); {} ** 2.0; {} // 0.5; {} % -1.5; {} % 1; torch.fmod({}, -1.5);
    {} * float("inf"); {} + float("nan"); torch.where({} != {}, 1.0, {}); torch.where({} > 0, {}, 0.0);
    torch.where({}.isnan(), {}, 2); torch.maximum({}, {} * 0); torch.fmax({}, 0 / {}); {}.clamp_min(0.25);
    {}.clamp_max(-0.25); torch.nan_to_num({}); {}.round(); {}.trunc(); torch.sign({}); {} * {} * {};
    {} == 0; {} < 0; {} != {}; ({} > 0) & ({} < 1); {} >= {}; torch.isclose({}, {} + 0, equal_nan=True);
    {}.half() * 1000; {}.bfloat16() / 3; {}.double() * 3; torch.atan2({} * 0, {}); torch.atan2({}, {} * 0);
    torch.hypot({}, {}); {} / 0; {} / float("inf"); torch.logaddexp({}, {}); torch.xlogy({} * 0, {});
    torch.softmax({}, -1); torch.logsumexp({}, -1); {}.amax(-1); {}.argmax(-1); {}.sort(-1, stable=True)[0];
    {}.cummax(-1)[0]; {}.max(); {}.prod(-1); {}.any(-1); {}.all(); {}.sum(-1, dtype=torch.float64);
    {}.float().cumsum(-1); torch.log_softmax({}, 0); torch.relu({}); F.relu6({}); F.hardswish({});
    F.silu({}); F.gelu({}); F.hardtanh({}, -1, 1); F.elu({}); torch.sqrt({}); torch.rsqrt({});
    torch.log({}); torch.log1p({}); torch.exp({}); torch.expm1({}); torch.sigmoid({}); torch.tanh({});
    torch.reciprocal({}); {}.square(); {} ** 3; F.softplus({});
    torch.masked_fill({}, {} < 0, float("-inf")); torch.lerp({}, -{}, 0.5);
    torch.addcmul({}, {}, {}, value=0); torch.addcdiv({}, {}, {}); torch.heaviside({}, {});
    torch.nextafter({}, -{}); F.leaky_relu({}, -0.5); {}.to(torch.bool); torch.logical_not({});
    torch.logical_xor({}, {} - 1); F.threshold({}, -0.5, 3.0); {}.var(-1); {}.norm(dim=-1);
    torch.count_nonzero({}); {}.nansum(); {}.float().half().float() - {}; F.hardsigmoid({}) * {};
    {} * torch.sigmoid({}); {} * torch.tanh(F.softplus({})); {} - {}.amax(-1, True);
    torch.nan_to_num({}, 0.0, 1e4, -1e4); torch.ceil({}) - torch.floor({}); torch.frac({});
    {} * 1e30 * 1e30; {} * 1e-30 * 1e-30; {} + 1e30 - 1e30; ({} + 2) - 2; ({} * 3) / 3; (2 * {}) * 0.5;
    {} / 2 / 4; -{} + {}; torch.exp(torch.log({})); torch.sqrt({} * {}); torch.sqrt({}) ** 2;
    ({} ** 2) ** 0.5; 1 / torch.sqrt({}); torch.abs(-{});
    torch.minimum(torch.maximum({}, {} * 0 - 1), {} * 0 + 1); {} * {}.sign(); {}.abs() * {}.sign()
    """
)
INTEGER = rows(
    """
    {} // -3; {} % -3; torch.fmod({}, -3); torch.div({}, -3, rounding_mode="trunc"); {} / -3; {} + 0.5;
    torch.div({}, 2, rounding_mode="floor"); {} ** 0; {} ** 1; {} ** 2; {} ** 3; 2 ** {}.clamp(0, 5);
    {} << 3; {} >> 2; {} >> 7; {} * 100; {} - 200; {} + 127; -{}; {}.abs(); ~{}; {} & -2; {} | 1; {} ^ -1;
    {} == 0.5; {} > 0.5; {} <= -1.5; {} != 300; {} * 0; {} - {}; {} * 1; {} + 0; torch.clamp({}, 2, -2);
    7 // ({} * 2 + 1); torch.clamp({}, -1.5, 2.5); torch.clamp({}, None, 3); torch.where({} > 0, 1, 0.5);
    {}.sum(); {}.prod(); torch.where({} > 0, {}, 2.5); torch.where({} > 0, {}, -1); {}.cumsum(0);
    {}.cumprod(-1); {}.float().mean(); {}.to(torch.int8) * 3; {}.to(torch.uint8) + 250; {}.bool() * 2;
    {}.to(torch.int16) << 4; -7 % ({} * 2 + 1); {}.half() + 1; {}.double() / 3; torch.rsub({}, 3);
    torch.add({}, {}, alpha=3); {}.amax(-1); {}.argmin(-1); {}.sum(-1, dtype=torch.int32);
    torch.mean({}.bfloat16()); torch.bitwise_right_shift({}, 5); {}.float() * 0.1; torch.sigmoid({});
    torch.exp({} * 1.0); torch.sqrt({}); 1 / {}; {} / {}; torch.maximum({}, {} * 2); torch.sign({});
    torch.relu({}); {}.square(); torch.bitwise_left_shift({}, 6); {}.sort(-1)[0]; {}.any(-1); {}.all();
    torch.logical_and({}, {} > 1); ({} > 0) * {}; torch.remainder({}, 4); {} % 1; {} // 1; {} * -1;
    {}.floor(); {}.round(); torch.trunc({}); {}.clamp(min=1); torch.isnan({});
    torch.bucketize({}, torch.tensor([0, 2])); torch.floor_divide({}, -2); {} * True; {} + True; {} - 0.0;
    {} * 1.0; {}.max(); {}.min(0)[0]; {}.cummin(0)[0]
    """
)
BOOL = rows(
    """
    {} + True; {} * 2; {} * 0.5; {} + 1; {} * {}; {} + {}; {}.sum(); {}.sum(0); {}.prod();
    {}.float().mean(); {} & True; {} ^ True; {} | False; ~{}; {} == 1; {} > False; {}.cumsum(0); {}.any(-1);
    {}.all(-1); {}.to(torch.uint8); torch.where({}, 1, 0); torch.where({}, 1.5, 2);
    torch.where({}, torch.tensor(1), 2.5); {}.argmax(); {}.amax(); {} / 2; {}.long() - 1; {}.half() * 3;
    {}.to(torch.int8) - 1; 1 - {}.float(); {}.logical_not(); {} >= 0.5; torch.maximum({}, ~{}); {}.flip(0);
    {}.to(torch.float64) + 0.1; torch.count_nonzero({}); {}.sort(-1, stable=True)[1]; {}.bitwise_xor({});
    {}.cummax(-1)[0]; torch.cat([{}, {}]); {}.int() << 2; torch.eq({}, {}); {}.max(); {}.sigmoid()
    """
)
MIXED = rows(
    """
    {} + {}; {} * {}; {} - {}; {} / {}; torch.maximum({}, {}); torch.where({} > 0, {}, {}); {} == {};
    {} < {}; torch.cat([{}.reshape(-1), {}.reshape(-1)]); torch.add({}, {}, alpha=2); torch.pow({}, {});
    {} // {}; torch.remainder({}, {}); torch.fmod({}, {}); torch.logical_or({}, {});
    torch.stack([{}.sum(), {}.sum()]); torch.minimum({}, {}); {} >= {}; torch.atan2({}, {});
    {}.to({}.dtype) + {}; torch.where({}.bool(), {}, {}); torch.div({}, {}, rounding_mode="floor");
    torch.clamp({}, {}, {}); {} ** {}; torch.lerp({}, {}, 0.5); torch.addcmul({}, {}, {});
    torch.xlogy({}, {}); torch.hypot({}, {}); {} != {}; torch.fmin({}, {}); torch.where({} < {}, {}, {});
    torch.div({}, {}, rounding_mode="trunc")
    """
)


def single(scope: Scope) -> Value:
    value = scope.pick()
    table = FLOAT if value.is_float else BOOL if value.dtype == torch.bool else INTEGER
    template = scope.rng.choice(table)
    return scope.add(template, *(value,) * template.count("{}"))


def mixed(scope: Scope) -> Value:
    """An operator of values of any dtypes."""
    a = scope.pick()
    template = scope.rng.choice(MIXED)
    operands = [a, *(broadcast(scope, a) for _ in range(template.count("{}") - 1))]
    scope.rng.shuffle(operands)
    return scope.add(template, *operands)


def cast(scope: Scope) -> Value:
    """A conversion. The values are in the range of the dtype."""
    value = scope.pick()
    name = scope.rng.choice(
        ("float32", "float16", "bfloat16", "float64", "int64", "int32", "int16", "int8", "uint8", "bool")
    )
    dtype = getattr(torch, name)
    if dtype in INTEGERS and value.is_float:
        low = 0 if name == "uint8" else -100
        value = scope.add(f"torch.nan_to_num({{}}).clamp({low}, 100)", value)
    return scope.add(f"{{}}.to(torch.{name})", value)


OPERATORS: tuple[tuple[Maker, float], ...] = ((single, 3.0), (mixed, 2.0), (cast, 1.0))
