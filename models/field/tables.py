"""Networks for tables, graphs and point clouds, with random weights. They are defined in this file."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models.field.entry import entry, seeded, tokens


class Recommender(nn.Module):
    """Embedding bags, their pairwise dot products, and two MLPs. Naumov et al., 2019.

    forward(numbers (batch, 13), categories (batch, tables, bag)) returns scores (batch, 1).
    """

    def __init__(self, tables: int = 16, rows: int = 5000, width: int = 64) -> None:
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
        self.bottom = nn.Sequential(
            nn.Linear(13, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, width), nn.ReLU()
        )
        first, second = torch.tril_indices(tables + 1, tables + 1, offset=-1)
        self.register_buffer("pairs", first * (tables + 1) + second)
        count = len(first) + width
        self.top = nn.Sequential(
            nn.Linear(count, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 1), nn.Sigmoid()
        )

    def forward(self, numbers: Tensor, categories: Tensor) -> Tensor:
        dense = self.bottom(numbers)
        sparse = [bag(column) for bag, column in zip(self.bags, categories.unbind(1), strict=True)]
        vectors = torch.stack([dense, *sparse], 1)
        products = (vectors @ vectors.transpose(1, 2)).flatten(1)[:, self.pairs]
        return self.top(torch.cat([dense, products], 1))


class DeepFm(nn.Module):
    """A factorization machine plus an MLP. Guo et al., 2017. Indices (batch, fields) to (batch)."""

    def __init__(self, fields: int = 26, rows: int = 20000, width: int = 16) -> None:
        super().__init__()
        self.one, self.vectors = nn.Embedding(rows, 1), nn.Embedding(rows, width)
        self.tower = nn.Sequential(
            nn.Linear(fields * width, 400), nn.ReLU(), nn.Linear(400, 400), nn.ReLU(), nn.Linear(400, 1)
        )

    def forward(self, rows: Tensor) -> Tensor:
        vectors = self.vectors(rows)
        pairs = 0.5 * (vectors.sum(1).square() - vectors.square().sum(1)).sum(1)
        return torch.sigmoid(self.one(rows).sum((1, 2)) + pairs + self.tower(vectors.flatten(1))[:, 0])


class GraphConvolution(nn.Module):
    """Graph convolution: messages along edges, summed at the target nodes. Kipf and Welling, 2016.

    forward(nodes (count, width), sources and targets (edges)) returns (count, classes).
    """

    def __init__(self, width: int = 64, hidden: int = 128, classes: int = 16, layers: int = 3) -> None:
        super().__init__()
        sizes = [width, *[hidden] * (layers - 1), classes]
        self.layers = nn.ModuleList(nn.Linear(i, o) for i, o in zip(sizes, sizes[1:], strict=False))

    def forward(self, nodes: Tensor, sources: Tensor, targets: Tensor) -> Tensor:
        ones = torch.ones_like(targets, dtype=torch.float32)
        degrees = torch.ones(nodes.shape[0]).scatter_add(0, targets, ones)
        norm = degrees.rsqrt()[:, None]
        for i, layer in enumerate(self.layers):
            messages = layer(nodes) * norm
            nodes = norm * messages.index_add(0, targets, messages[sources])
            nodes = F.relu(nodes) if i + 1 < len(self.layers) else nodes
        return nodes


class DenseGraph(nn.Module):
    """Attention among the nodes of a graph with an adjacency matrix. Velickovic et al., 2018."""

    def __init__(self, width: int = 64, heads: int = 4) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(3))
        self.heads = heads
        self.left = nn.ParameterList(torch.randn(heads, width // heads) * 0.2 for _ in range(3))
        self.right = nn.ParameterList(torch.randn(heads, width // heads) * 0.2 for _ in range(3))

    def forward(self, nodes: Tensor, edges: Tensor) -> Tensor:
        for layer, left, right in zip(self.layers, self.left, self.right, strict=True):
            parts = layer(nodes).unflatten(-1, (self.heads, -1))
            scores = (parts * left).sum(-1)[:, None] + (parts * right).sum(-1)[None]
            scores = F.leaky_relu(scores, 0.2).masked_fill(edges[..., None] == 0, -1e9).softmax(1)
            nodes = nodes + F.elu(torch.einsum("ijh,jhd->ihd", scores, parts).flatten(1))
        return nodes


class PointNet(nn.Module):
    """The same layers for each point, then a maximum. Qi et al., 2017. (1, 3, points) to classes."""

    def __init__(self, classes: int = 40) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for inputs, outputs in ((3, 64), (64, 64), (64, 128), (128, 512)):
            layers += [nn.Conv1d(inputs, outputs, 1), nn.BatchNorm1d(outputs), nn.ReLU()]
        self.points = nn.Sequential(*layers)
        self.head = nn.Sequential(nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, classes))

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.points(x).amax(2))


class TableTransformer(nn.Module):
    """Attention among the columns of a table. Gorishniy et al., 2021. (batch, columns) to (batch, 1)."""

    def __init__(self, columns: int = 24, width: int = 96) -> None:
        super().__init__()
        self.scale, self.shift = (nn.Parameter(torch.randn(columns, width) * 0.3) for _ in range(2))
        layer = nn.TransformerEncoderLayer(width, 6, 2 * width, 0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
        self.head = nn.Linear(width, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.encoder(x[..., None] * self.scale + self.shift).mean(1))


@entry("recommendation")
def recommender() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    return Recommender(), (seeded(32, 13), tokens(5000, 32, 16, 4))


@entry("recommendation")
def deep_fm() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    return DeepFm(), (tokens(20000, 64, 26),)


@entry("graph")
def graph_convolution() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    edges = tokens(500, 2, 4000)
    return GraphConvolution(), (seeded(500, 64), edges[0].contiguous(), edges[1].contiguous())


@entry("graph")
def graph_attention() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    return DenseGraph(), (seeded(100, 64), tokens(2, 100, 100))


@entry("graph")
def point_net() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    return PointNet(), (seeded(1, 3, 1024),)


@entry("table")
def table_transformer() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    return TableTransformer(), (seeded(16, 24),)
