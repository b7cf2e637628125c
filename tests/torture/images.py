"""Convolutions, pooling, padding and resampling of tensors of rank 3 to 5."""

from __future__ import annotations

from tests.torture.scope import Maker, Refused, Scope, Value


def image(scope: Scope) -> Value:
    """Returns a value [N, C, ...] with the dtype of the modules. Only N may be 0."""
    return scope.pick(
        lambda v: (
            str(v.dtype) == f"torch.{scope.dtype}"
            and 3 <= v.rank <= 5
            and not v.dynamic(1)
            and all(0 < t.shape[a] for t in v.data for a in range(1, v.rank))
        )
    )


def dims(value: Value) -> int:
    return value.rank - 2


def _per_axis(scope: Scope, count: int, choices: tuple[int, ...]) -> str:
    """Returns one number for all axes, or a tuple with a number for each."""
    if scope.chance(0.7) or count == 1:
        return str(scope.rng.choice(choices))
    return str(tuple(scope.rng.choice(choices) for _ in range(count)))


def convolution(scope: Scope) -> Value:
    """A convolution layer, in some cases with a batch norm and an activation."""
    value = image(scope)
    rng = scope.rng
    count, channels = dims(value), value.shape[1]
    kernel = _per_axis(scope, count, (1, 2, 3, 3, 3, 5))
    groups = rng.choice([g for g in (1, 1, channels, 2, 3, 4) if channels % g == 0])
    out = groups * rng.choice((1, 1, 2, 3, 4)) if groups > 1 else rng.choice((1, 2, 3, 4, 8, 9, 16))
    options = [f"stride={_per_axis(scope, count, (1, 1, 2, 3))}"] if rng.random() < 0.5 else []
    if rng.random() < 0.6:
        options.append(f"padding={_per_axis(scope, count, (0, 1, 1, 2))}")
    elif not options and rng.random() < 0.4:
        options.append('padding="same"')
    if rng.random() < 0.2:
        options.append(f"dilation={_per_axis(scope, count, (1, 2))}")
    if groups > 1:
        options.append(f"groups={groups}")
    if rng.random() < 0.3:
        options.append("bias=False")
    if rng.random() < 0.1 and any(o.startswith("padding=") for o in options):
        options.append(f'padding_mode="{rng.choice(("reflect", "replicate", "circular"))}"')
    text = f"nn.Conv{count}d({channels}, {out}, {', '.join([kernel, *options])})"
    result = scope.add(f"{scope.module(text)}({{}})", value)
    if rng.random() < 0.2:
        result = scope.layer(f"nn.BatchNorm{count}d({out})", result)
    if rng.random() < 0.5:
        result = scope.add(rng.choice(ACTIVATIONS), result)
    return result


ACTIVATIONS = (
    "F.relu({})",
    "F.relu6({})",
    "F.silu({})",
    "F.hardswish({})",
    "F.leaky_relu({}, 0.1)",
    "F.gelu({})",
    "torch.sigmoid({})",
    "F.hardsigmoid({})",
    "F.elu({})",
    "torch.tanh({})",
)


def transposed(scope: Scope) -> Value:
    """A transposed convolution layer, in some cases with an activation."""
    value = image(scope)
    rng = scope.rng
    count, channels = dims(value), value.shape[1]
    groups = rng.choice([g for g in (1, 1, 1, channels, 2) if channels % g == 0])
    out = groups * rng.choice((1, 2, 3, 4))
    stride = rng.choice((1, 2, 2, 3))
    options = [f"stride={stride}"]
    if rng.random() < 0.5:
        options.append(f"padding={rng.randint(0, 2)}")
    if stride > 1 and rng.random() < 0.4:
        options.append(f"output_padding={rng.randint(1, stride - 1)}")
    if rng.random() < 0.2:
        options.append(f"dilation={rng.randint(1, 2)}")
    if groups > 1:
        options.append(f"groups={groups}")
    if rng.random() < 0.3:
        options.append("bias=False")
    kernel = _per_axis(scope, count, (1, 2, 3, 4))
    text = f"nn.ConvTranspose{count}d({channels}, {out}, {kernel}, {', '.join(options)})"
    result = scope.add(f"{scope.module(text)}({{}})", value)
    return scope.add(rng.choice(ACTIVATIONS), result) if rng.random() < 0.3 else result


def shared_weight(scope: Scope) -> Value:
    """A convolution whose weight is that of an earlier layer, or a value of the graph."""
    value = image(scope)
    count = dims(value)
    known = [
        m
        for m in scope.members
        if m.expression.startswith(f"nn.Conv{count}d({value.shape[1]},") and "groups" not in m.expression
    ]
    if known and scope.chance(0.7):
        return scope.add(f"F.conv{count}d({{}}, self.{scope.rng.choice(known).name}.weight)", value)
    weight = scope.pick(
        lambda v: v.dtype == value.dtype and v.rank == value.rank and v.shape[1] == value.shape[1]
    )
    return scope.add(f"F.conv{count}d({{}}, {{}}, padding=1)", value, weight)


def pool(scope: Scope) -> Value:
    value = image(scope)
    rng = scope.rng
    count = dims(value)
    draw = rng.random()
    kernel = _per_axis(scope, count, (1, 2, 2, 3))
    if draw < 0.35:
        options = rng.choice(
            ("", ", stride=1", ", stride=2", ", stride=2, padding=1", ", ceil_mode=True", ", dilation=2")
        )
        if rng.random() < 0.2:
            return scope.add(
                f"F.max_pool{count}d({{}}, {kernel}{options}, return_indices=True)", value, count=2
            )
        return scope.add(f"F.max_pool{count}d({{}}, {kernel}{options})", value)
    if draw < 0.65:
        options = rng.choice(
            (
                "",
                ", stride=1",
                ", stride=2, padding=1",
                ", ceil_mode=True",
                ", padding=1, count_include_pad=False",
            )
        )
        return scope.add(f"F.avg_pool{count}d({{}}, {kernel}{options})", value)
    if draw < 0.9:
        size = _per_axis(scope, count, (1, 1, 2, 3, 5))
        return scope.add(f"F.adaptive_{rng.choice(('avg', 'avg', 'max'))}_pool{count}d({{}}, {size})", value)
    if count == 3:
        raise Refused("not of three dims")
    return scope.add(f"F.lp_pool{count}d({{}}, 2, {kernel})", value)


def pad(scope: Scope) -> Value:
    value = image(scope)
    rng = scope.rng
    amounts = tuple(rng.randint(0, 2) if rng.random() < 0.9 else -1 for _ in range(2 * dims(value)))
    mode = rng.choice(("reflect", "replicate", "circular", "constant"))
    if mode == "circular" and min(amounts) < 0:
        raise Refused("torch leaves parts of such a result unwritten")
    return scope.add(f'F.pad({{}}, {amounts}, mode="{mode}")', value)


def interpolate(scope: Scope) -> Value:
    value = image(scope)
    rng = scope.rng
    count = dims(value)
    modes = {
        1: ("nearest", "linear", "area", "nearest-exact"),
        2: ("nearest", "bilinear", "bicubic", "area", "nearest-exact"),
        3: ("nearest", "trilinear", "area", "nearest-exact"),
    }[count]
    mode = rng.choice(modes)
    if rng.random() < 0.5:
        factor = rng.choice((0.5, 1.5, 2, 3, 1.3))
        size, width = f"scale_factor={factor}", int(value.data[0].shape[-1] * factor)
    else:
        sizes = tuple(rng.randint(1, 9) for _ in range(count))
        size, width = f"size={sizes}", sizes[-1]
    corners = ", align_corners=True" if "linear" in mode or mode == "bicubic" else ""
    corners = corners if rng.random() < 0.4 else ""
    corners += ", antialias=True" if mode in ("bilinear", "bicubic") and rng.random() < 0.1 else ""
    if "antialias" in corners and width == 1:
        raise Refused("eager PyTorch gives wrong results of this width")
    return scope.add(f'F.interpolate({{}}, {size}, mode="{mode}"{corners})', value)


def rearranged(scope: Scope) -> Value:
    """Pixel and channel shuffles, patches, a bias for each channel, squeeze and excitation."""
    value = image(scope)
    rng = scope.rng
    channels = value.shape[1]
    draw = rng.randrange(7)
    if draw == 0:
        return scope.add("F.pixel_shuffle({}, 2)", value)
    if draw == 1:
        # Eager PyTorch returns images without elements with the shape of the input.
        if any(t.numel() == 0 for t in value.data):
            raise Refused("no elements")
        return scope.add("F.pixel_unshuffle({}, 2)", value)
    if draw == 2:
        groups = rng.choice([g for g in range(1, channels + 1) if channels % g == 0])
        return scope.add(f"F.channel_shuffle({{}}, {groups})", value)
    if draw == 3:
        return scope.add(
            f"F.unfold({{}}, {_per_axis(scope, 2, (1, 2, 3))}, padding={rng.randint(0, 1)})", value
        )
    if draw == 4:
        return scope.layer(f"nn.PReLU({channels})", value)
    if draw == 5:
        axes = tuple(range(2, value.rank))
        gate = scope.add(f"{{}}.mean({axes}, keepdim=True)", value)
        gate = scope.add("torch.sigmoid({})", gate)
        return scope.add("{} * {}", value, gate)
    grid = scope.add(
        "F.affine_grid(torch.tensor([[[1.0, 0.2, 0.1], [-0.1, 0.9, 0]]]), (1, 1, 4, 5), align_corners=False)"
    )
    mode = rng.choice(("bilinear", "nearest", "bicubic"))
    border = rng.choice(("zeros", "border", "reflection"))
    options = f'mode="{mode}", padding_mode="{border}", align_corners=False'
    return scope.add(f"F.grid_sample({{}}[:1], {{}}, {options})", value, grid)


OPERATORS: tuple[tuple[Maker, float], ...] = (
    (convolution, 3.0),
    (transposed, 0.8),
    (shared_weight, 0.3),
    (pool, 1.5),
    (pad, 0.6),
    (interpolate, 0.8),
    (rearranged, 0.6),
)
