"""Small programs for the tests of the compiler. Each has one special feature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn


@dataclass(frozen=True)
class Case:
    name: str
    make: Callable[[], nn.Module]
    inputs: Callable[[], tuple[Any, ...]]
    kwargs: dict[str, Any] = field(default_factory=dict)
    dynamic_shapes: Any = None

    def export(self, strict: bool = False) -> torch.export.ExportedProgram:
        torch.manual_seed(0)
        module = self.make().eval()
        return torch.export.export(
            module, self.inputs(), self.kwargs or None, dynamic_shapes=self.dynamic_shapes, strict=strict
        )


CASES: dict[str, Case] = {}


def case(name: str, *inputs: Any, dynamic_shapes: Any = None, **kwargs: Any) -> Callable[[Any], Any]:
    """Registers a module class, or a function as the forward of a module."""

    def register(target: Any) -> Any:
        if isinstance(target, type):
            make: Callable[[], nn.Module] = target
        else:

            def make() -> nn.Module:
                return _Function(target)

        def fresh_inputs() -> tuple[Any, ...]:
            generator = torch.Generator().manual_seed(1)
            return tuple(_materialise(item, generator) for item in inputs)

        CASES[name] = Case(name, make, fresh_inputs, kwargs, dynamic_shapes)
        return target

    return register


class _Function(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


@dataclass(frozen=True)
class Rand:
    shape: tuple[int, ...]
    dtype: torch.dtype = torch.float32
    channels_last: bool = False


def f32(*shape: int) -> Rand:
    return Rand(shape)


def i64(*shape: int) -> Rand:
    return Rand(shape, torch.int64)


def _materialise(item: Any, generator: torch.Generator) -> Any:
    if isinstance(item, Rand):
        if item.dtype.is_floating_point:
            tensor = torch.randn(item.shape, generator=generator).to(item.dtype)
        elif item.dtype == torch.bool:
            tensor = torch.rand(item.shape, generator=generator) > 0.5
        else:
            tensor = torch.randint(0, 8, item.shape, generator=generator).to(item.dtype)
        return tensor.to(memory_format=torch.channels_last) if item.channels_last else tensor
    if isinstance(item, (list, tuple)):
        return type(item)(_materialise(part, generator) for part in item)
    if isinstance(item, dict):
        return {key: _materialise(part, generator) for key, part in item.items()}
    return item


@case("add", f32(1), f32(1))
def _add(x: Any, y: Any) -> Any:
    return x + y


@case("add_scalar", f32(2, 3))
def _add_scalar(x: Any) -> Any:
    return x + 1


@case("scalars", f32(2, 3), i64(2, 3))
def _scalars(x: Any, n: Any) -> Any:
    return (
        x * 2.5 - 1,
        n * 2 + 1,
        x / 3,
        x.clamp(min=0.1),
        x**2,
        n // 2,
        x > 0.5,
        1 - x,
        x.pow(3.0),
        2**x,
        n / 2,
    )


@case("alpha", f32(2, 3), f32(2, 3))
def _alpha(x: Any, y: Any) -> Any:
    return torch.add(x, y, alpha=2), torch.sub(x, y, alpha=0.5), torch.rsub(x, 3)


@case("views", f32(2, 3, 4))
def _views(x: Any) -> Any:
    y = x.view(6, 4)
    a = y.transpose(0, 1)
    b = x.permute(2, 0, 1).reshape(4, 6)
    c = x.unsqueeze(0).squeeze(0).flatten()
    d = x.expand(5, 2, 3, 4)
    return (
        a @ y,
        b * 2,
        c + 1,
        d.sum(0),
        y.t(),
        x[..., 0],
        x[:, 1:],
        x[0],
        x.mT,
        x.movedim(0, 1),
        x.unflatten(2, (2, 2)),
    )


@case("noops", f32(2, 3))
def _noops(x: Any) -> Any:
    y = x.expand(2, 3) + x[:] + x.clone() + x.contiguous() + x.to(torch.float32) + F.dropout(x, 0.5, False)
    return y + torch.zeros_like(x) + x.detach() + x.view(2, 3)


@case("split", f32(4, 6))
def _split(x: Any) -> Any:
    a, b = torch.split(x, 2)[0], torch.chunk(x, 3, 1)[1]
    c, d = x.split([1, 5], 1)
    return a.sum(), b * 2, c, d, x.unbind(0)[1], torch.tensor_split(x, 3, 1)[2]


@case("max_dim", f32(4, 6))
def _max_dim(x: Any) -> Any:
    values, indices = torch.max(x, 1)
    return values, indices, x.max(), x.argmax(1), torch.topk(x, 2)[0], x.min(0).values, torch.sort(x, 1)[0]


@case("reductions", f32(4, 6, 2))
def _reductions(x: Any) -> Any:
    return (
        x.sum(),
        x.mean(),
        x.mean(-1, keepdim=True),
        x.var(1),
        x.std(0),
        x.norm(),
        x.amax((0, 1)),
        x.prod(0),
        x.cumsum(1),
    )


@case("activations", f32(4, 6))
def _activations(x: Any) -> Any:
    return (
        F.relu(x),
        F.relu6(x),
        F.hardswish(x),
        F.hardsigmoid(x),
        F.silu(x),
        F.gelu(x),
        F.gelu(x, approximate="tanh"),
        F.elu(x),
        F.leaky_relu(x),
        F.softplus(x),
        F.mish(x),
        torch.sigmoid(x),
        torch.tanh(x),
        F.softmax(x, -1),
        F.log_softmax(x, -1),
        F.glu(x),
        F.hardtanh(x),
        F.selu(x),
        F.celu(x),
        F.prelu(x, torch.tensor([0.1])),
        F.logsigmoid(x),
    )


@case("linear", f32(2, 5, 4))
class Linear(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(4, 6)
        self.b = nn.Linear(6, 3, bias=False)

    def forward(self, x: torch.Tensor) -> tuple[Any, ...]:
        return self.b(self.a(x)), self.a(x[0])


@case("matmul", f32(2, 3, 4), f32(2, 4, 5), f32(4))
def _matmul(x: Any, y: Any, v: Any) -> Any:
    return (
        x @ y,
        torch.bmm(x, y),
        x @ v,
        x[0] @ y[0],
        torch.einsum("bij,bjk->bki", x, y),
        v @ v,
        torch.addmm(x[0, :, 0:1], x[0], y[0]),
    )


@case("conv_bn", f32(1, 3, 8, 8))
class ConvBn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(4)
        self.conv1 = nn.Conv2d(4, 4, 3, groups=4, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(4, 2, 2, stride=2)
        with torch.no_grad():
            for statistic, low, high in ((self.bn.running_mean, -1, 1), (self.bn.running_var, 0.5, 2)):
                assert statistic is not None
                statistic.uniform_(low, high)
            self.bn.weight.uniform_(0.5, 2)
            self.bn.bias.uniform_(-1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.up(F.relu6(self.conv1(F.relu(self.bn(self.conv(x))))))


@case("conv1d_same", f32(1, 3, 8))
class Conv1dSame(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(3, 4, 3, padding="same")
        self.bn = nn.BatchNorm1d(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.bn(self.conv(x))


@case("digits_cnn", f32(1, 1, 8, 8))
class DigitsCnn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Dropout(0.2),
            nn.Flatten(),
        )
        self.head = nn.Linear(32 * 16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(x))


@case("pooling", f32(1, 3, 8, 8))
def _pooling(x: Any) -> Any:
    return (
        F.max_pool2d(x, 2),
        F.avg_pool2d(x, 3, 2, 1),
        F.adaptive_avg_pool2d(x, 1),
        F.adaptive_avg_pool2d(x, 4),
        F.interpolate(x, scale_factor=2),
        F.pad(x, (1, 1, 0, 2)),
        F.interpolate(x, (5, 5), mode="bilinear"),
        F.pixel_shuffle(x[:, :1].expand(1, 4, 8, 8), 2),
        F.pad(x, (1, 1, 1, 1), mode="reflect"),
    )


@case("norms", f32(2, 4, 6))
class Norms(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.LayerNorm(6)
        self.group = nn.GroupNorm(2, 4)
        self.instance = nn.InstanceNorm1d(4)
        self.rms = nn.RMSNorm(6)

    def forward(self, x: torch.Tensor) -> tuple[Any, ...]:
        return self.layer(x), self.group(x), self.instance(x), self.rms(x), F.normalize(x, dim=1)


@case("attention", f32(2, 5, 8))
class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(8, 24)
        self.mha = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: torch.Tensor) -> tuple[Any, ...]:
        q, k, v = self.qkv(x).reshape(2, 5, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(2, 5, 8)
        z = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return y, z, self.mha(x, x, x)[0]


@case("embedding", i64(2, 5))
class Embedding(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(10, 4, padding_idx=0)

    def forward(self, index: torch.Tensor) -> tuple[Any, ...]:
        return self.table(index) + torch.arange(5).unsqueeze(-1), F.one_hot(index, 8)


@case("indexing", f32(4, 6), i64(3), Rand((4, 6), torch.bool))
def _indexing(x: Any, index: Any, mask: Any) -> Any:
    return (
        x[index % 4],
        x.index_select(0, index % 4),
        x.gather(1, torch.zeros(4, 2, dtype=torch.int64)),
        x[:, [0, 2]],
        torch.where(mask, x, 0.0),
        x.masked_fill(mask, -1.0),
        x.scatter(1, torch.zeros(4, 1, dtype=torch.int64), 2.0),
        x.tril(),
        x.flip(0),
        x.roll(1, 0),
        x.repeat(2, 1),
        x.repeat_interleave(2, 0),
        torch.cat([x, x], 1),
        torch.stack([x, x]),
        x.narrow(1, 1, 2),
    )


@case("creation", f32(4, 6))
def _creation(x: Any) -> Any:
    return (
        torch.zeros(2, 3) + 1,
        torch.ones_like(x) * x,
        torch.full((2,), 3.0),
        torch.arange(0, 6) * x,
        torch.eye(6) @ x.t(),
        torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) * x,
        x.new_zeros(3),
        torch.linspace(0, 1, 6) + x,
        torch.tril(torch.ones(6, 6)),
    )


@case("inplace", f32(2, 3))
def _inplace(x: Any) -> Any:
    y = x * 2
    y.add_(1)
    y.mul_(x).relu_()
    z = torch.zeros(4)
    z[1:3] = 5.0
    return y, z, y.clone().fill_(3)


@case("inplace_views", f32(4, 4))
def _inplace_views(x: Any) -> Any:
    y = x.clone()
    y[0].add_(1)
    y.t()[1] = 3.0
    w = y.view(2, 8)
    w[:, ::2] *= 2
    return y, w


@case("input_mutation", f32(2, 3), f32(2, 3))
def _input_mutation(x: Any, y: Any) -> Any:
    x.add_(y)
    return x * 2


@case("counter", f32(2))
class Counter(nn.Module):
    count: torch.Tensor
    scale: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(1))
        self.register_buffer("scale", torch.ones(2), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count += 1
        return x * self.count * self.scale


@case("kv_cache", f32(1, 2, 4), i64(1))
class KvCache(nn.Module):
    cache: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("cache", torch.zeros(8, 2, 4))

    def forward(self, x: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        self.cache[position] = x
        return self.cache.sum(0)


@case("lstm", f32(5, 2, 4))
class Lstm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 6, num_layers=2)
        self.gru = nn.GRU(4, 3, bidirectional=True)

    def forward(self, x: torch.Tensor) -> tuple[Any, ...]:
        y, (h, c) = self.lstm(x)
        return y, h, c, self.gru(x)[0]


@case("pytree", {"a": Rand((2, 3)), "b": (Rand((2, 3)), Rand((2, 3)))}, bias=2.0)
def _pytree(inputs: Any, bias: Any) -> Any:
    a, (b, c) = inputs["a"], inputs["b"]
    return {"sum": a + b, "list": [c * bias, (a, b)], "const": 3}


@case(
    "dtypes",
    Rand((3,), torch.float16),
    Rand((3,), torch.int32),
    Rand((3,), torch.bool),
    Rand((3,), torch.uint8),
)
def _dtypes(h: Any, i: Any, b: Any, u: Any) -> Any:
    return (
        h + i,
        i + b,
        u + 1,
        h.float() * i,
        i.to(torch.int64),
        b & (i > 2),
        ~b,
        i.bool(),
        h.to(torch.bfloat16),
        i / 2,
        u.float(),
    )


@case("channels_last", Rand((1, 3, 8, 8), channels_last=True))
class ChannelsLast(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x: torch.Tensor) -> tuple[Any, ...]:
        y = self.conv(x)
        return (
            y.to(memory_format=torch.contiguous_format),
            x.contiguous() + 1,
            y.to(memory_format=torch.channels_last),
        )


@case("unused", f32(2, 3), f32(2, 3))
class Unused(nn.Module):
    unused_buffer: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.unused = nn.Linear(7, 7)
        self.register_buffer("unused_buffer", torch.ones(3))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        _ = self.a(x) * 2
        return self.a(x)


@case("shared_weight", f32(2, 3))
class SharedWeight(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.b = nn.Linear(3, 3)
        self.b.weight = self.a.weight

    def forward(self, x: torch.Tensor) -> tuple[Any, ...]:
        return self.b(self.a(x)), x


@case("passthrough", f32(2, 3))
class Passthrough(nn.Module):
    table: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.arange(3.0))

    def forward(self, x: torch.Tensor) -> tuple[Any, ...]:
        return x, x.view(3, 2), self.table, 5, None


@case("complex_slices", f32(4, 8, 6))
def _complex_slices(x: Any) -> Any:
    a, b = x.chunk(2, -1)
    rotated = torch.cat((-b, a), -1)
    return rotated, x[:, ::2, 1:4], x[1:-1], x[..., None, 0], x.select(1, 2), x.diagonal(dim1=0, dim2=1)


@case("dynamic_batch", f32(3, 4), dynamic_shapes=({0: torch.export.Dim("batch", max=16)},))
class DynamicBatch(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 5)

    def forward(self, x: torch.Tensor) -> tuple[Any, ...]:
        y = self.linear(x).view(x.shape[0] * 5)
        return F.softmax(y.view(-1, 5), -1), torch.zeros(x.shape[0], 2) + x.size(0), x.sum(0)


@case(
    "dynamic_sequence",
    i64(1, 6),
    dynamic_shapes=({1: torch.export.Dim("sequence", min=2, max=32)},),
)
class DynamicSequence(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(16, 8)
        self.position = nn.Embedding(32, 8)
        self.qkv = nn.Linear(8, 24)
        self.norm = nn.LayerNorm(8)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        length = tokens.shape[1]
        x = self.norm(self.table(tokens) + self.position(torch.arange(length)))
        q, k, v = self.qkv(x).view(1, length, 3, 2, 4).permute(2, 0, 3, 1, 4)
        mask = torch.ones(length, length, dtype=torch.bool).tril()
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return y.transpose(1, 2).reshape(1, length, 8)[:, -1]


@case("cond", f32(2, 3))
class Cond(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda t: t.sin() + 1, lambda t: t.cos().view(2, 3), (x,))


@case("data_dependent", Rand((4,), torch.bool))
def _data_dependent(mask: Any) -> Any:
    index = mask.nonzero()
    return index + 1


@case("item", i64(1), f32(8))
def _item(n: Any, x: Any) -> Any:
    k = n.item()
    torch._check(k >= 0)
    torch._check(k <= 8)
    return x[:k] * 2
