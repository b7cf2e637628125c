"""Models for graphs, points and boxes."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim

from models.zoo.cases import Lambda, Model, model, zoo

GROUP = "domains"


def edges(nodes: int, count: int) -> torch.Tensor:
    return torch.randint(0, nodes, (2, count))


@zoo(GROUP)
def graph_attention() -> Model:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lin, self.attend = nn.Linear(6, 8), nn.Parameter(torch.randn(16))

        def forward(self, x: torch.Tensor, edge: torch.Tensor) -> torch.Tensor:
            h, n = self.lin(x), x.shape[0]
            source, target = edge
            score = F.leaky_relu(torch.cat([h[source], h[target]], -1) @ self.attend, 0.2)
            top = torch.full((n,), float("-inf")).scatter_reduce(0, target, score, "amax")
            weight = (score - top[target]).exp()
            total = torch.zeros(n).scatter_add(0, target, weight)
            weight = weight / (total[target] + 1e-9)
            return torch.zeros(n, 8).index_add(0, target, weight[:, None] * h[source])

    e = Dim("e", min=2, max=40)
    return model(
        M(),
        torch.randn(7, 6),
        edges(7, 20),
        dynamic=(None, {1: e}),
        others=[(torch.randn(7, 6), edges(7, 40)), (torch.randn(7, 6), edges(7, 3))],
    )


@zoo(GROUP)
def graph_sage_pooling() -> Model:
    def run(a: nn.Module, b: nn.Module, x: torch.Tensor, edge: torch.Tensor, batch: torch.Tensor) -> Any:
        for layer in (a, b):
            gathered = torch.zeros_like(x).index_reduce(0, edge[1], x[edge[0]], "mean", include_self=False)
            x = F.normalize(layer(torch.cat([x, gathered], 1)), dim=1).relu()
        pooled = torch.zeros(2, x.shape[1]).scatter_reduce(0, batch[:, None].expand_as(x), x, "amax")
        return x, pooled

    parts = nn.Linear(8, 4), nn.Linear(8, 4)
    return model(Lambda(run, *parts), torch.randn(6, 4), edges(6, 14), torch.tensor([0, 0, 0, 1, 1, 1]))


@zoo(GROUP)
def message_passing_with_edges() -> Model:
    """Edge features and a recurrent cell, as in networks for molecules."""

    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.edge, self.cell = nn.Linear(3, 64), nn.GRUCell(8, 8)

        def forward(self, x: torch.Tensor, edge: torch.Tensor, kinds: torch.Tensor) -> torch.Tensor:
            matrices = self.edge(kinds).view(-1, 8, 8)
            for _ in range(2):
                messages = torch.bmm(matrices, x[edge[0], :, None]).squeeze(-1)
                x = self.cell(torch.zeros_like(x).index_add_(0, edge[1], messages), x)
            return x

    return model(M(), torch.randn(5, 8), edges(5, 9), torch.randn(9, 3))


@zoo(GROUP)
def point_cloud() -> Model:
    """Nearest neighbours, grouped features and a maximum, as in PointNet and DGCNN."""

    def run(net: nn.Module, x: torch.Tensor) -> torch.Tensor:
        distance = torch.cdist(x, x)
        near = distance.topk(4, largest=False).indices
        flat = (near + torch.arange(x.shape[0])[:, None, None] * x.shape[1]).flatten()
        grouped = x.flatten(0, 1)[flat].view(*near.shape, 3)
        centre = x[:, :, None].expand_as(grouped)
        return net(torch.cat([centre, grouped - centre], -1)).amax(2).amax(1)

    return model(Lambda(run, nn.Linear(6, 8)), torch.randn(2, 10, 3))


@zoo(GROUP)
def radiance_field() -> Model:
    """Rays, positional encodings and volume rendering."""

    def run(net: nn.Module, origin: torch.Tensor, direction: torch.Tensor) -> torch.Tensor:
        depth = torch.linspace(2.0, 6.0, 8)
        points = origin[:, None] + direction[:, None] * depth[None, :, None]
        bands = points[..., None] * 2.0 ** torch.arange(3)
        encoded = torch.cat([bands.sin(), bands.cos()], -1).flatten(-2)
        colour, density = net(encoded).split([3, 1], -1)
        step = torch.cat([depth.diff(), torch.tensor([1e10])])
        alpha = 1 - torch.exp(-F.relu(density[..., 0]) * step)
        left = torch.cumprod(F.pad(1 - alpha + 1e-10, (1, 0), value=1.0), -1)[:, :-1]
        return ((alpha * left)[..., None] * colour.sigmoid()).sum(1)

    return model(Lambda(run, nn.Linear(18, 4)), torch.randn(5, 3), torch.randn(5, 3))


@zoo(GROUP)
def box_head() -> Model:
    """Anchors, decoded boxes, pairwise overlaps and their maximum."""

    def run(net: nn.Module, x: torch.Tensor) -> Any:
        h = net(x)
        b, _, height, width = h.shape
        y, x0 = torch.meshgrid(torch.arange(height) * 8.0, torch.arange(width) * 8.0, indexing="ij")
        anchors = torch.stack([x0, y, x0 + 16, y + 16], -1).view(-1, 4)
        scores, deltas = h.permute(0, 2, 3, 1).reshape(b, -1, 5).split([1, 4], -1)
        centre = (anchors[:, :2] + anchors[:, 2:]) / 2 + deltas[..., :2] * 16
        size = 16 * deltas[..., 2:].clamp(max=4.0).exp()
        boxes = torch.cat([centre - size / 2, centre + size / 2], -1).clamp(0, 64)
        best, which = scores.squeeze(-1).sigmoid().topk(5)
        chosen = boxes.gather(1, which[..., None].expand(-1, -1, 4))
        low = torch.maximum(chosen[:, :, None, :2], chosen[:, None, :, :2])
        high = torch.minimum(chosen[:, :, None, 2:], chosen[:, None, :, 2:])
        shared = (high - low).clamp(min=0).prod(-1)
        area = (chosen[..., 2:] - chosen[..., :2]).prod(-1)
        overlap = shared / (area[:, :, None] + area[:, None] - shared).clamp(min=1e-6)
        return chosen, best, overlap

    return model(Lambda(run, nn.Conv2d(3, 5, 3, 8, 1)), torch.randn(2, 3, 64, 64))


@zoo(GROUP)
def kept_boxes() -> Model:
    """All boxes above a threshold: their number depends on the data."""

    def run(x: torch.Tensor, scores: torch.Tensor) -> Any:
        keep = torch.nonzero(scores > 0.5).squeeze(1)
        return x[keep], scores[keep], keep

    inputs = torch.randn(8, 4), torch.rand(8)
    return model(
        run, *inputs, others=[(torch.randn(8, 4), torch.zeros(8)), (torch.randn(8, 4), torch.ones(8))]
    )


@zoo(GROUP)
def one_stage_detector() -> Model:
    """Cross-stage blocks, a pooling pyramid, an upsampling neck and a decoded grid, as in the YOLO family."""

    def conv(i: int, o: int, k: int = 3, s: int = 1) -> nn.Module:
        return nn.Sequential(nn.Conv2d(i, o, k, s, k // 2, bias=False), nn.BatchNorm2d(o), nn.SiLU(True))

    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem, self.c1, self.c2 = conv(3, 8, 3, 2), conv(4, 4), conv(4, 4)
            self.join, self.down = conv(16, 16, 1), conv(16, 16, 3, 2)
            self.spp, self.lateral = conv(64, 16, 1), conv(32, 16)
            self.heads = nn.ModuleList([nn.Conv2d(16, 20, 1), nn.Conv2d(16, 20, 1)])
            self.register_buffer("bins", torch.arange(4.0))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            a, b = self.stem(x).chunk(2, 1)
            parts = [a, b, self.c1(b)]
            parts.append(parts[-1] + self.c2(parts[-1]))
            fine = self.join(torch.cat(parts, 1))
            deep = self.down(fine)
            pooled = [deep]
            for _ in range(3):
                pooled.append(F.max_pool2d(pooled[-1], 5, 1, 2))
            deep = self.spp(torch.cat(pooled, 1))
            fine = self.lateral(torch.cat([F.interpolate(deep, scale_factor=2), fine], 1))
            outs = [head(f).flatten(2) for head, f in zip(self.heads, (fine, deep), strict=True)]
            boxes, classes = torch.cat(outs, 2).split([16, 4], 1)
            distances = boxes.unflatten(1, (4, 4)).softmax(2).mul(self.bins[:, None]).sum(2)
            return torch.cat([distances, classes.sigmoid()], 1)

    return model(M(), torch.randn(1, 3, 32, 32))
