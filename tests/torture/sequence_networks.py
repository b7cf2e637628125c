"""Small networks for sequences: several kinds of attention, norms, gated and plain MLPs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.torture.scope import Scope, Value


def _linear(scope: Scope, x: Value, out: int, bias: bool = True) -> Value:
    more = "" if bias else ", bias=False"
    return scope.layer(f"nn.Linear({x.shape[-1]}, {out}{more})", x)


def _norm(scope: Scope, x: Value) -> Value:
    name = scope.rng.choice(("nn.LayerNorm", "nn.LayerNorm", "nn.RMSNorm"))
    return scope.layer(f"{name}({x.shape[-1]})", x)


def _heads(scope: Scope, x: Value, count: int) -> Value:
    """Reshapes [B, T, D] to [B, H, T, D / H]."""
    size = x.shape[-1] // count
    if scope.chance(0.5):
        return scope.add(f"{{}}.unflatten(-1, ({count}, {size})).transpose(1, 2)", x)
    return scope.add(f"{{}}.view({{}}, {{}}, {count}, {size}).permute(0, 2, 1, 3)", x, x.size(0), x.size(1))


def rotary(scope: Scope, x: Value) -> Value:
    """Rotary position embeddings of [B, H, T, D]."""
    half = x.shape[-1] // 2
    rates = [round(0.5**i, 4) for i in range(half)]
    angles = scope.add(f"torch.arange({{}}, dtype=torch.float32)[:, None] * torch.tensor({rates})", x.size(2))
    if scope.chance(0.5):
        angles = scope.add("torch.cat([{}, {}], -1)", angles, angles)
        turned = scope.add(f"torch.cat([-{{}}[..., {half}:], {{}}[..., :{half}]], -1)", x, x)
        text = "{} * {}.cos().to({}.dtype) + {} * {}.sin().to({}.dtype)"
        return scope.add(text, x, angles, x, turned, angles, x)
    a = scope.add("{}[..., ::2]", x)
    b = scope.add("{}[..., 1::2]", x)
    c = scope.add("{}.cos().to({}.dtype)", angles, x)
    s = scope.add("{}.sin().to({}.dtype)", angles, x)
    return scope.add(
        "torch.stack([{} * {} - {} * {}, {} * {} + {} * {}], -1).flatten(-2)", a, c, b, s, a, s, b, c
    )


def _mask(scope: Scope, x: Value) -> Value | None:
    """Returns a mask [T, T] or [B, 1, 1, T] for [B, T, D], or None."""
    draw = scope.rng.random()
    length = x.size(1)
    if draw < 0.25:
        return scope.add("torch.tril(torch.ones({}, {}, dtype=torch.bool))", length, length)
    if draw < 0.5:
        return scope.add('torch.full(({}, {}), float("-inf")).triu(1).to({}.dtype)', length, length, x)
    if draw < 0.7:
        keep = scope.add("{}[..., 0] > -0.7", x)
        keep = scope.add("{} | (torch.arange({}) == 0)", keep, length)
        return scope.add("{}[:, None, None, :]", keep)
    return None


def attention(scope: Scope, x: Value) -> Value:
    """Self-attention: fused or from single operators, with masks, grouped queries and rotary positions."""
    width = x.shape[-1]
    heads = scope.rng.choice([h for h in (1, 2, 4) if width % (2 * h) == 0] or [1])
    groups = scope.rng.choice([g for g in (1, 2, heads) if heads % g == 0])
    query, key, value = _projections(scope, x, heads, groups)
    if query.shape[-1] % 2 == 0 and scope.chance(0.4):
        query, key = rotary(scope, query), rotary(scope, key)
    if groups != heads:
        key, value = _repeated_heads(scope, key, value, heads // groups)
    mask = _mask(scope, x)
    attend = _fused_attention if scope.chance(0.5) else _written_attention
    y = scope.add("{}.transpose(1, 2).flatten(2)", attend(scope, query, key, value, mask))
    return _linear(scope, y, width)


def _projections(scope: Scope, x: Value, heads: int, groups: int) -> tuple[Value, Value, Value]:
    """Returns the query [B, heads, T, size], key and value [B, groups, T, size] of x [B, T, heads * size]."""
    width = x.shape[-1]
    parts: Sequence[Value]
    if groups == heads and scope.chance(0.3):
        parts = scope.add_several("{}.chunk(3, -1)", _linear(scope, x, 3 * width), count=3)
    else:
        bias = scope.chance(0.6)
        parts = [_linear(scope, x, count * width // heads, bias) for count in (heads, groups, groups)]
    query, key, value = parts
    return _heads(scope, query, heads), _heads(scope, key, groups), _heads(scope, value, groups)


def _repeated_heads(scope: Scope, key: Value, value: Value, count: int) -> tuple[Value, Value]:
    """Repeats each head of the key and of the value `count` times."""
    text = scope.rng.choice(
        (
            f"{{}}.repeat_interleave({count}, 1)",
            f"{{}}[:, :, None].expand(-1, -1, {count}, -1, -1).flatten(1, 2)",
        )
    )
    return scope.add(text, key), scope.add(text, value)


def _fused_attention(scope: Scope, query: Value, key: Value, value: Value, mask: Value | None) -> Value:
    if mask is not None:
        text = "F.scaled_dot_product_attention({}, {}, {}, attn_mask={})"
        return scope.add(text, query, key, value, mask)
    causal = scope.rng.choice(("", ", is_causal=True"))
    return scope.add(f"F.scaled_dot_product_attention({{}}, {{}}, {{}}{causal})", query, key, value)


def _written_attention(scope: Scope, query: Value, key: Value, value: Value, mask: Value | None) -> Value:
    """Attention from single operators, sometimes with normalized queries and keys or scales of heads."""
    root = query.shape[-1] ** 0.5
    if scope.chance(0.3):
        query, key = (scope.add("F.normalize({}, dim=-1)", item) for item in (query, key))
    scores = scope.add(f"{{}} @ {{}}.transpose(-2, -1) {scope.rng.choice(('*', '/'))} {root}", query, key)
    if scope.chance(0.3):
        scores = scope.add("{} * {}", scores, scope.parameter((query.shape[1], 1, 1)))
    if mask is not None and mask.is_float:
        scores = scope.add("{} + {}", scores, mask)
    elif mask is not None:
        scores = scope.add('{}.masked_fill(~{}, float("-inf"))', scores, mask)
    return scope.add("{} @ {}", scope.add("torch.softmax({}, -1)", scores), value)


def mlp(scope: Scope, x: Value) -> Value:
    """Two linear layers with an activation between them, or the gated form with three."""
    width = x.shape[-1]
    wide = width * scope.rng.choice((2, 4))
    if scope.chance(0.4):
        gate = scope.add(scope.rng.choice(("F.silu({})", "F.gelu({})")), _linear(scope, x, wide, False))
        return _linear(scope, scope.add("{} * {}", gate, _linear(scope, x, wide, False)), width, False)
    name = scope.rng.choice(
        ("F.gelu({})", 'F.gelu({}, approximate="tanh")', "F.relu({})", "F.silu({})", "F.relu({}).square()")
    )
    return _linear(scope, scope.add(name, _linear(scope, x, wide)), width)


def mixer(scope: Scope, x: Value) -> Value:
    """A convolution or MLP along the time axis."""
    width = x.shape[-1]
    y = scope.add("{}.transpose(1, 2)", x)
    if x.dynamic(1) or scope.chance(0.5):
        y = scope.layer(
            f"nn.Conv1d({width}, {width}, 3, padding=1, groups={scope.rng.choice((1, width))})",
            y,
        )
    else:
        y = _linear(scope, y, x.shape[1])
    return scope.add("{}.transpose(1, 2)", scope.add("F.gelu({})", y))


def whole_module(scope: Scope, x: Value) -> Value:
    """Attention modules of torch."""
    width = x.shape[-1]
    heads = 2 if width % 2 == 0 else 1
    if scope.chance(0.5):
        module = scope.module(f"nn.MultiheadAttention({width}, {heads}, batch_first=True)")
        return scope.add(f"{module}({{}}, {{}}, {{}}, need_weights=False)[0]", x, x, x)
    first = scope.rng.choice(("True", "False"))
    module = scope.module(
        f"nn.TransformerEncoderLayer({width}, {heads}, {2 * width}, batch_first=True, norm_first={first})"
    )
    return scope.add(f"{module}({{}})", x)


def linear_attention(scope: Scope, x: Value) -> Value:
    """Attention without a softmax over keys, or with a decay of distant keys."""
    width = x.shape[-1]
    q, k, v = (_linear(scope, x, width) for _ in range(3))
    if scope.chance(0.5):
        q, k = (scope.add("F.elu({}) + 1", item) for item in (q, k))
        context = scope.add("torch.einsum('btd,bte->bde', {}, {})", k, v)
        norm = scope.add("torch.einsum('btd,bd->bt', {}, {}.sum(1))", q, k)
        return scope.add("torch.einsum('btd,bde->bte', {}, {}) / ({}[..., None] + 1e-3)", q, context, norm)
    q, k, v = (_heads(scope, item, 2 if width % 2 == 0 else 1) for item in (q, k, v))
    steps = scope.add("torch.arange({})", x.size(1))
    distance = scope.add("({}[None, :] - {}[:, None]).abs().neg().to({}.dtype)", steps, steps, x)
    slopes = [0.5, 0.25][: q.shape[1]]
    bias = scope.add(f"{{}} * torch.tensor({slopes})[:, None, None].to({{}}.dtype)", distance, x)
    if scope.chance(0.5):
        y = scope.add("F.scaled_dot_product_attention({}, {}, {}, attn_mask={})", q, k, v, bias)
    else:
        text = "torch.softmax({} @ {}.mT * 0.5 + {}, -1) @ {}"
        y = scope.add(text, q, k, bias, v)
    return scope.add("{}.transpose(1, 2).flatten(2)", y)


def crossed(scope: Scope, x: Value) -> Value:
    """Attention to learned queries or to pooled keys, with one pair of keys for all heads."""
    width = x.shape[-1]
    heads = scope.rng.choice([h for h in (1, 2, 4) if width % h == 0])
    q = _heads(scope, _linear(scope, x, width), heads)
    kv = _linear(scope, x, 2 * width // heads)
    size = width // heads
    k = scope.add(f"{{}}[..., :{size}].unsqueeze(1)", kv)
    v = scope.add(f"{{}}[..., {size}:].unsqueeze(1)", kv)
    repeats = f"-1, {heads}, -1, -1"
    form = scope.rng.choice(
        (
            f"torch.softmax(torch.matmul({{}} / {size**0.5}, {{}}.transpose(-1, -2)), dim=-1).matmul({{}})",
            f"F.scaled_dot_product_attention({{}}, {{}}.expand({repeats}), {{}}.expand({repeats}))",
        )
    )
    y = scope.add("{}.transpose(1, 2).flatten(2)", scope.add(form, q, k, v))
    return _linear(scope, y, width, False)


def written_cell(scope: Scope, x: Value) -> Value:
    """A loop over the gates of a recurrent cell from single operators."""
    width = x.shape[-1]
    if x.dynamic(1) or x.shape[1] > 5:
        return mlp(scope, x)
    inner = _linear(scope, x, 4 * width)
    hidden = cell = scope.add("torch.zeros_like({}[:, 0])", x)
    layer = scope.module(f"nn.Linear({width}, {4 * width}, bias=False)")
    steps = []
    for t in range(x.shape[1]):
        gates = scope.add(f"{{}}[:, {t}] + {layer}({{}})", inner, hidden)
        input_gate, forget_gate, candidate, output_gate = scope.add_several("{}.chunk(4, -1)", gates, count=4)
        text = "torch.sigmoid({}) * {} + torch.sigmoid({}) * torch.tanh({})"
        cell = scope.add(text, forget_gate, cell, input_gate, candidate)
        hidden = scope.add("torch.sigmoid({}) * torch.tanh({})", output_gate, cell)
        steps.append(hidden)
    return scope.add(f"torch.stack([{', '.join(['{}'] * len(steps))}], 1)", *steps)


def gated_tokens(scope: Scope, x: Value) -> Value:
    """A gated convolution over time with a causal padding, and a written norm."""
    width = x.shape[-1]
    scale = scope.parameter((width,))
    y = scope.add(
        "{} * torch.rsqrt({}.float().pow(2).mean(-1, keepdim=True) + 1e-5).to({}.dtype) * {}", x, x, x, scale
    )
    y = scope.add("F.pad({}.transpose(1, 2), (2, 0))", y)
    y = scope.layer(f"nn.Conv1d({width}, {2 * width}, 3, groups={scope.rng.choice((1, width))})", y)
    form = scope.rng.choice(("F.glu({}, 1)", "{}[:, ::2] * torch.sigmoid({}[:, 1::2])"))
    y = scope.add(form, *[y] * form.count("{}"))
    return scope.add("{}.transpose(1, 2)", y)


BLOCKS: tuple[Callable[[Scope, Value], Value], ...] = (
    attention,
    attention,
    mlp,
    mlp,
    mixer,
    whole_module,
    linear_attention,
    crossed,
    written_cell,
    gated_tokens,
)


def sequence_network(scope: Scope) -> Value:
    """An embedding or a float input, some residual blocks, and a head."""
    rng = scope.rng
    known = {d.name for d in scope.dims}
    batch = "b" if "b" in known else rng.choice((1, 1, 2, 3))
    length = "t" if "t" in known else rng.choice((1, 3, 4, 7, 8))
    width = rng.choice((4, 8, 12, 16))
    if scope.chance(0.4):
        ids = scope.input((batch, length), rng.choice(("int64", "int64", "int32")), "index 11")
        x = scope.layer(f"nn.Embedding(11, {width})", ids)
        if scope.chance(0.5):
            table = scope.module(f"nn.Embedding(32, {width})")
            x = scope.add(f"{{}} + {table}(torch.arange({{}}))", x, x.size(1))
    else:
        x = scope.input((batch, length, width))
    for _ in range(rng.randint(1, 3)):
        block = rng.choice(BLOCKS)
        draw = rng.random()
        if draw < 0.5:
            x = scope.add("{} + {}", x, block(scope, _norm(scope, x)))
        elif draw < 0.8:
            x = _norm(scope, scope.add("{} + {}", x, block(scope, x)))
        else:
            x = block(scope, x)
    draw = rng.random()
    if draw < 0.4:
        x = _linear(scope, x, rng.choice((5, 11)))
    elif draw < 0.6:
        x = scope.add(rng.choice(("{}.mean(1)", "{}[:, 0]", "{}[:, -1]")), x)
    return x
