"""Small networks for images, with blocks of well-known networks."""

from __future__ import annotations

from collections.abc import Callable

from tests.torture.images import ACTIVATIONS
from tests.torture.scope import Scope, Value


def _channels(value: Value) -> int:
    return value.shape[1]


def _conv(scope: Scope, x: Value, out: int, kernel: int = 3, **options: object) -> Value:
    """A convolution that keeps the size if the stride is 1, in most cases with a batch norm after it."""
    options = {"padding": kernel // 2, **options}
    norm = scope.chance(0.6)
    if norm:
        options["bias"] = False
    text = ", ".join(f"{k}={v}" for k, v in options.items())
    x = scope.layer(f"nn.Conv2d({_channels(x)}, {out}, {kernel}, {text})", x)
    if norm:
        x = scope.layer(f"nn.BatchNorm2d({out})", x)
    return x


def _activation(scope: Scope, x: Value) -> Value:
    template = scope.rng.choice(ACTIVATIONS)
    if template == "F.relu({})" and scope.chance(0.3):
        return scope.add("F.relu({}, inplace=True)", x)
    return scope.add(template, x)


def residual(scope: Scope, x: Value) -> Value:
    """Two convolutions and a skip connection, which has a convolution if the shapes differ."""
    out = _channels(x) if scope.chance(0.7) else scope.rng.choice((4, 8, 12))
    stride = 1 if out == _channels(x) else scope.rng.choice((1, 2))
    y = _activation(scope, _conv(scope, x, out, stride=stride))
    y = _conv(scope, y, out)
    skip = x if y.shape == x.shape else _conv(scope, x, out, 1, stride=stride)
    y = scope.add(scope.rng.choice(("{} + {}", "{} + {}", "torch.add({}, {})", "{}.add_({})")), y, skip)
    return _activation(scope, y)


def inverted_bottleneck(scope: Scope, x: Value) -> Value:
    """A 1 x 1 convolution to more channels, a depthwise convolution, and a 1 x 1 convolution back."""
    channels = _channels(x)
    wide = channels * scope.rng.choice((2, 3, 4))
    kernel = scope.rng.choice((3, 5))
    y = _activation(scope, _conv(scope, x, wide, 1))
    y = _activation(scope, _conv(scope, y, wide, kernel, groups=wide, stride=scope.rng.choice((1, 1, 2))))
    if scope.chance(0.5):
        y = squeeze(scope, y)
    y = _conv(scope, y, channels if scope.chance(0.7) else 6, 1)
    return scope.add("{} + {}", x, y) if y.shape == x.shape else y


def squeeze(scope: Scope, x: Value) -> Value:
    """Squeeze and excitation."""
    channels = _channels(x)
    small = max(1, channels // 2)
    s = scope.add(scope.rng.choice(("F.adaptive_avg_pool2d({}, 1)", "{}.mean((2, 3), keepdim=True)")), x)
    s = scope.add(scope.rng.choice(("F.relu({})", "F.silu({})")), _plain_conv(scope, s, small))
    s = scope.add(
        scope.rng.choice(("torch.sigmoid({})", "F.hardsigmoid({})")), _plain_conv(scope, s, channels)
    )
    return scope.add(scope.rng.choice(("{} * {}", "{}.mul_({})")), x, s)


def _plain_conv(scope: Scope, x: Value, out: int) -> Value:
    return scope.layer(f"nn.Conv2d({_channels(x)}, {out}, 1)", x)


def u_net(scope: Scope, x: Value) -> Value:
    """One level of a U-Net: downsampling, upsampling, concatenation."""
    channels = _channels(x)
    a = _activation(scope, _conv(scope, x, channels))
    b = scope.add(scope.rng.choice(("F.max_pool2d({}, 2)", "F.avg_pool2d({}, 2)")), a)
    b = _activation(scope, _conv(scope, b, channels * 2))
    if scope.chance(0.5):
        b = scope.layer(f"nn.ConvTranspose2d({channels * 2}, {channels}, 2, stride=2)", b)
        if b.shape[2:] != a.shape[2:]:
            b = scope.add(
                "F.pad({}, (0, {}.shape[3] - {}.shape[3], 0, {}.shape[2] - {}.shape[2]))", b, a, b, a, b
            )
    else:
        mode = scope.rng.choice(("nearest", "bilinear"))
        b = scope.add(f'F.interpolate({{}}, size={{}}.shape[2:], mode="{mode}")', b, a)
    joined = scope.add("torch.cat([{}, {}], 1)", a, b)
    return _activation(scope, _conv(scope, joined, channels))


def dense(scope: Scope, x: Value) -> Value:
    """A dense block: each layer reads the concatenation of all earlier results."""
    parts = [x]
    for _ in range(scope.rng.randint(1, 3)):
        joined = scope.add(f"torch.cat([{', '.join(['{}'] * len(parts))}], 1)", *parts)
        parts.append(_activation(scope, _conv(scope, joined, 4)))
    return scope.add(f"torch.cat([{', '.join(['{}'] * len(parts))}], 1)", *parts)


def grouped(scope: Scope, x: Value) -> Value:
    """Grouped convolutions with a channel shuffle, or a split into branches and a concatenation."""
    channels = _channels(x)
    if channels % 2:
        return residual(scope, x)
    if scope.chance(0.5):
        y = _activation(scope, _conv(scope, x, channels, groups=2))
        y = scope.add("F.channel_shuffle({}, 2)", y)
        return scope.add("{} + {}", y, x)
    left, right = scope.add_several("{}.chunk(2, 1)", x, count=2)
    right = _activation(scope, _conv(scope, right, channels // 2, groups=channels // 2))
    joined = scope.add("torch.cat([{}, {}], 1)", left, right)
    return scope.add(
        "{}.view({}.shape[0], 2, -1, {}.shape[2], {}.shape[3]).transpose(1, 2).flatten(1, 2)",
        joined,
        joined,
        joined,
        joined,
    )


def wide_groups(scope: Scope, x: Value) -> Value:
    """A convolution with 16 to 32 channels in each group, between two 1 x 1 convolutions."""
    channels, wide, groups = _channels(x), *scope.rng.choice(((32, 2), (48, 2), (48, 3), (64, 2)))
    y = _activation(scope, _conv(scope, x, wide, 1))
    y = _activation(scope, _conv(scope, y, wide, groups=groups, stride=scope.rng.choice((1, 1, 1, 2))))
    y = _conv(scope, y, channels, 1)
    return scope.add("{} + {}", x, y) if y.shape == x.shape else y


def standardized(scope: Scope, x: Value) -> Value:
    """A convolution with weights of mean 0 and variance 1 in each filter."""
    channels = _channels(x)
    layer = scope.module(f"nn.Conv2d({channels}, {channels}, 3)")
    weight = scope.rng.choice(
        (
            "F.batch_norm({w}.reshape(1, {n}, -1), None, None, training=True).reshape_as({w})",
            "({w} - {w}.mean((1, 2, 3), keepdim=True)) / {w}.std((1, 2, 3), keepdim=True)",
        )
    ).format(w=f"{layer}.weight", n=channels)
    return _activation(scope, scope.add(f"F.conv2d({{}}, {weight}, {layer}.bias, padding=1)", x))


def attended(scope: Scope, x: Value) -> Value:
    """Attention to channels or pixels, with gates from means and maxima (https://arxiv.org/abs/1807.06521)."""
    if scope.chance(0.5):
        means, maxima = "F.adaptive_avg_pool2d({}, 1)", "F.adaptive_max_pool2d({}, 1)"
        gate = scope.add(f"{means} + {maxima}", x, x)
    else:
        joined = scope.add("torch.cat([{}.mean(1, keepdim=True), {}.max(1, keepdim=True)[0]], 1)", x, x)
        gate = _plain_conv(scope, joined, 1)
    return scope.add("{} * torch.sigmoid({})", x, gate)


def patches(scope: Scope, x: Value) -> Value:
    """Overlapping windows of the image, each of which is reduced: a mean, a variance or a product."""
    size, step = scope.rng.choice((2, 3)), scope.rng.choice((1, 2))
    windows = scope.add(f"{{}}.unfold(2, {size}, {step}).unfold(3, {size}, {step})", x)
    template = scope.rng.choice(
        ("{}.mean((-2, -1))", "{}.var((-2, -1), correction=0)", "({} * 0.5).amax((-2, -1))", "{}[..., 0, -1]")
    )
    y = scope.add(template, windows)
    return scope.add(f'F.pad({{}}, (1, 0, 0, 1), mode="{scope.rng.choice(("reflect", "replicate"))}")', y)


def convnext(scope: Scope, x: Value) -> Value:
    """A depthwise convolution, a layer norm and an MLP over channels (https://arxiv.org/abs/2201.03545)."""
    channels = _channels(x)
    y = scope.layer(f"nn.Conv2d({channels}, {channels}, 5, padding=2, groups={channels})", x)
    y = scope.add("{}.permute(0, 2, 3, 1)", y)
    y = scope.layer(f"nn.LayerNorm({channels})", y)
    y = scope.layer(f"nn.Linear({channels}, {channels * 2})", y)
    y = scope.add("F.gelu({})", y)
    y = scope.layer(f"nn.Linear({channels * 2}, {channels})", y)
    y = scope.add("{}.permute(0, 3, 1, 2)", y)
    return scope.add("{} + {}", x, y)


def branches(scope: Scope, x: Value) -> Value:
    """A sum of convolutions (and a norm) of the same value, which some networks merge for inference."""
    channels = _channels(x)
    stride = scope.rng.choice((1, 1, 2))
    groups = scope.rng.choice([g for g in (1, 1, 2, channels) if channels % g == 0])
    parts = [
        _conv(scope, x, channels, kernel, stride=stride, groups=groups)
        for kernel in scope.rng.choice(((3, 1), (3, 3), (5, 3, 1), (3, 3, 1)))
    ]
    if stride == 1 and scope.chance(0.5):
        parts.append(scope.layer(f"nn.BatchNorm2d({channels})", x))
    total = parts[0]
    for part in parts[1:]:
        total = scope.add(scope.rng.choice(("{} + {}", "{} + {}", "{}.add_({})")), total, part)
    return _activation(scope, total)


def dilated(scope: Scope, x: Value) -> Value:
    """Convolutions with several dilations, often wider than the image, and the mean of the image."""
    channels, rates = _channels(x), scope.rng.choice(((1, 2), (2, 6), (1, 3, 12)))
    parts = [
        _activation(scope, _conv(scope, x, channels, padding=rate, dilation=rate, groups=groups))
        for rate in rates
        for groups in (scope.rng.choice((1, 1, channels)),)
    ]
    if scope.chance(0.5):
        mean = _activation(scope, _plain_conv(scope, scope.add("F.adaptive_avg_pool2d({}, 1)", x), channels))
        mode = scope.rng.choice(('"nearest"', '"bilinear"', '"bilinear", align_corners=True'))
        parts.append(scope.add(f"F.interpolate({{}}, size={{}}.shape[2:], mode={mode})", mean, x))
    joined = scope.add(f"torch.cat([{', '.join(['{}'] * len(parts))}], 1)", *parts)
    return _conv(scope, joined, channels, 1)


def resized(scope: Scope, x: Value) -> Value:
    """An upsampled result, sometimes with the head of a segmentation network."""
    mode = scope.rng.choice(('"nearest"', '"bilinear"', '"bilinear", align_corners=True', '"bicubic"'))
    y = scope.add(f"F.interpolate({{}}, scale_factor={scope.rng.choice((2, 2, 3))}, mode={mode})", x)
    return _activation(scope, _conv(scope, y, _channels(x))) if scope.chance(0.5) else y


def large_bottleneck(scope: Scope, x: Value) -> Value:
    """An inverted bottleneck whose expanded tensor is larger than the L2 cache."""
    y = scope.add(
        f"F.interpolate({{}}, size=({scope.rng.choice((28, 33))}, {scope.rng.choice((27, 32))}))", x
    )
    channels, wide = _channels(x), scope.rng.choice((184, 200))
    z = _activation(scope, _conv(scope, y, wide, 1))
    if scope.chance(0.3):  # more padding at the bottom and on the right
        z = scope.add("F.pad({}, (0, 1, 0, 1))", z)
        z = _activation(scope, _conv(scope, z, wide, 3, groups=wide, stride=2, padding=0))
    else:
        z = _activation(scope, _conv(scope, z, wide, 3, groups=wide, stride=scope.rng.choice((1, 2))))
    z = _conv(scope, z, channels, 1)
    return scope.add("{} + {}", y, z) if y.shape == z.shape else z


def pooled(scope: Scope, x: Value) -> Value:
    """Max or average pooling."""
    return scope.add(
        scope.rng.choice(
            ("F.max_pool2d({}, 3, 2, 1)", "F.avg_pool2d({}, 2, ceil_mode=True)", "F.max_pool2d({}, 2, 1)")
        ),
        x,
    )


def shuffled_pixels(scope: Scope, x: Value) -> Value:
    """Blocks of pixels become channels, and channels become blocks of pixels (https://arxiv.org/abs/1609.05158)."""
    channels = _channels(x)
    if scope.chance(0.5):
        y = scope.add("F.pixel_shuffle({}, 2)", _conv(scope, x, channels * 4, 1))
        return scope.add("F.avg_pool2d({}, 2)", _activation(scope, y))
    parts = "{}[..., ::2, ::2], {}[..., 1::2, ::2], {}[..., ::2, 1::2], {}[..., 1::2, 1::2]"
    even = scope.add("F.pad({}, (0, {}.shape[3] % 2, 0, {}.shape[2] % 2))", x, x, x)
    form = scope.rng.choice((f"torch.cat([{parts}], 1)", "F.pixel_unshuffle({}, 2)"))
    y = scope.add(form, *[even] * form.count("{}"))
    return _activation(scope, _conv(scope, y, channels, 1))


def windows(scope: Scope, x: Value) -> Value:
    """Attention in windows of a rolled image, with a bias for positions (https://arxiv.org/abs/2103.14030)."""
    rng = scope.rng
    channels, size = _channels(x), rng.choice((2, 3))
    heads = rng.choice([h for h in (1, 2, 4) if channels % h == 0])
    width, shift, tokens = channels // heads, rng.choice((0, 1)), size * size
    if x.dynamic(2) or x.dynamic(3):
        return residual(scope, x)
    rows, columns = (-(-n // size) * size for n in x.shape[2:])
    y = scope.add("{}.permute(0, 2, 3, 1)", x)
    y = scope.layer(f"nn.LayerNorm({channels})", y)
    y = scope.add(f"F.pad({{}}, (0, 0, 0, {columns - x.shape[3]}, 0, {rows - x.shape[2]}))", y)
    if shift:
        y = scope.add(f"torch.roll({{}}, (-{shift}, -{shift}), (1, 2))", y)
    grid = f"-1, {rows // size}, {size}, {columns // size}, {size}, {channels}"
    y = scope.add(f"{{}}.view({grid}).transpose(2, 3).reshape(-1, {tokens}, {channels})", y)
    qkv = scope.layer(f"nn.Linear({channels}, {3 * channels})", y)
    qkv = scope.add(f"{{}}.reshape(-1, {tokens}, 3, {heads}, {width}).permute(2, 0, 3, 1, 4)", qkv)
    bias = scope.parameter((heads, tokens, tokens))
    form = rng.choice(
        (
            f"torch.softmax({{}}[0] * {width**-0.5} @ {{}}[1].transpose(-2, -1) + {{}}, -1) @ {{}}[2]",
            "F.scaled_dot_product_attention({}[0], {}[1], attn_mask={}[None], value={}[2])",
        )
    )
    y = scope.add(form, qkv, qkv, bias, qkv)
    y = scope.layer(f"nn.Linear({channels}, {channels})", scope.add("{}.transpose(1, 2).flatten(2)", y))
    grid = f"-1, {rows // size}, {columns // size}, {size}, {size}, {channels}"
    y = scope.add(f"{{}}.view({grid}).transpose(2, 3).reshape(-1, {rows}, {columns}, {channels})", y)
    if shift:
        y = scope.add(f"torch.roll({{}}, ({shift}, {shift}), (1, 2))", y)
    y = scope.add(f"{{}}[:, :{x.shape[2]}, :{x.shape[3]}].permute(0, 3, 1, 2)", y)
    return scope.add("{} + {}", x, y)


def pyramid(scope: Scope, x: Value) -> Value:
    """Features of two sizes, of which each is added to or concatenated with the other."""
    channels = _channels(x)
    small = _activation(scope, _conv(scope, x, channels, stride=2))
    up = scope.add(
        f"F.interpolate({{}}, size={{}}.shape[2:], mode={scope.rng.choice(_MODES)})",
        _plain_conv(scope, small, channels),
        x,
    )
    fine = scope.add("{} + {}", _plain_conv(scope, x, channels), up)
    down = scope.add(
        f"F.adaptive_{scope.rng.choice(('max', 'avg'))}_pool2d({{}}, {{}}.shape[2:])", fine, small
    )
    joined = scope.add("torch.cat([{}, {}], 1)", down, small)
    back = scope.add("F.interpolate({}, size={}.shape[2:])", _conv(scope, joined, channels, 1), x)
    return scope.add("{} * torch.sigmoid({})", back, fine)


_MODES = ('"nearest"', '"bilinear"', '"bilinear", align_corners=True', '"nearest-exact"')


def pools(scope: Scope, x: Value) -> Value:
    """Repeated max pooling of the same value, concatenated; or a pool minus its input."""
    if scope.chance(0.5):
        return scope.add("{} + F.avg_pool2d({}, 3, 1, 1, count_include_pad=False) - {}", x, x, x)
    parts = [x]
    for _ in range(3):
        parts.append(scope.add("F.max_pool2d({}, 3, 1, 1)", parts[-1]))
    return _conv(scope, scope.add("torch.cat([{}, {}, {}, {}], 1)", *parts), _channels(x), 1)


def gated_image(scope: Scope, x: Value) -> Value:
    """Halves of the channels, of which one is the gate of the other; sometimes with a written norm."""
    channels = _channels(x)
    y = _conv(scope, _norm2d(scope, x), channels * 2, scope.rng.choice((1, 3)))
    if scope.chance(0.5):
        y = scope.add("F.glu({}, 1)", y)
    else:
        a, b = scope.add_several("{}.chunk(2, 1)", y, count=2)
        y = scope.add(scope.rng.choice(("{} * {}", "{} * F.gelu({})", "{}.mul_({})")), a, b)
    scale = scope.parameter((1, channels, 1, 1))
    return scope.add("{} + {} * {}", x, y, scale)


def _norm2d(scope: Scope, x: Value) -> Value:
    """Normalizes the channels of each pixel, or groups of channels, from single operators."""
    channels = _channels(x)
    weight, bias = scope.parameter((channels,)), scope.parameter((channels,))
    if scope.chance(0.5):
        mean = scope.add("{}.mean(1, keepdim=True)", x)
        variance = scope.add("({} - {}).pow(2).mean(1, keepdim=True)", x, mean)
        y = scope.add("({} - {}) / torch.sqrt({} + 1e-3)", x, mean, variance)
        return scope.add("{}[:, None, None] * {} + {}[:, None, None]", weight, y, bias)
    groups = scope.rng.choice([g for g in (1, 2, 4) if channels % g == 0])
    flat = scope.add(f"{{}}.reshape({{}}.shape[0], {groups}, -1)", x, x)
    variance = scope.add("{}.var(-1, unbiased=False, keepdim=True)", flat)
    y = scope.add("({} - {}.mean(-1, keepdim=True)) * torch.rsqrt({} + 1e-3)", flat, flat, variance)
    y = scope.add("{}.view_as({})", y, x)
    return scope.add("{} * {}.view(1, -1, 1, 1) + {}.view(1, -1, 1, 1)", y, weight, bias)


BLOCKS: tuple[Callable[[Scope, Value], Value], ...] = (
    residual,
    inverted_bottleneck,
    squeeze,
    u_net,
    dense,
    grouped,
    wide_groups,
    standardized,
    attended,
    patches,
    convnext,
    branches,
    dilated,
    resized,
    large_bottleneck,
    pooled,
    shuffled_pixels,
    windows,
    pyramid,
    pools,
    gated_image,
)


def image_network(scope: Scope) -> Value:
    """A stem, some blocks, and in most cases a classifier."""
    rng = scope.rng
    batch = "b" if any(d.name == "b" for d in scope.dims) else rng.choice((1, 1, 2, 3))
    height, width = rng.choice((5, 7, 8, 9, 12)), rng.choice((5, 7, 8, 9, 12))
    layout = "channels_last" if rng.random() < 0.2 else "contiguous"
    x = scope.input((batch, rng.choice((1, 3, 4)), height, width), layout=layout)
    x = _activation(scope, _conv(scope, x, rng.choice((4, 6, 8, 16)), stride=rng.choice((1, 1, 2))))
    for _ in range(rng.randint(1, 3)):
        x = rng.choice(BLOCKS)(scope, x)
    if scope.chance(0.7):
        x = scope.add(
            rng.choice(("F.adaptive_avg_pool2d({}, 1).flatten(1)", "{}.mean((2, 3))", "{}.amax((2, 3))")), x
        )
        x = scope.layer(f"nn.Linear({x.shape[1]}, {rng.choice((1, 5, 10))})", x)
        if scope.chance(0.3):
            x = scope.add(
                rng.choice(("torch.softmax({}, -1)", "torch.argmax({}, 1)", "torch.log_softmax({}, 1)")), x
            )
    return x
