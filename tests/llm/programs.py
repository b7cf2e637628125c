"""Small language models as programs, and generation with them in eager PyTorch."""

from __future__ import annotations

import copy
import functools
from collections.abc import Sequence
from typing import Any

import torch
from models.wide import Llama, LlamaFromStart, LlamaWithoutCache
from torch import Tensor, nn
from torch.export import Dim, export

import rushlight

WORDS = [f"w{index}" for index in range(40)]
CONTEXT = 32
END = 0


class Words:
    """A tokenizer of words with numbers: "w1 w2" is [1, 2]."""

    eos_id = None

    def encode(self, text: str) -> list[int]:
        return [int(word[1:]) for word in text.split()]

    def decode(self, tokens: Sequence[int]) -> str:
        return "".join(f" w{token}" for token in tokens)


class WithoutCache(LlamaWithoutCache):
    """Returns logits with two dimensions."""

    def forward(self, tokens: Tensor) -> Tensor:
        return super().forward(tokens)[:, 0]


class Half(LlamaFromStart):
    def forward(self, tokens: Tensor, start: Tensor) -> Tensor:
        return super().forward(tokens, start).half()


def llama() -> Llama:
    torch.manual_seed(0)
    model = Llama(width=32, layers=2, heads=4, shared=2, hidden=48, vocabulary=40, length=CONTEXT).eval()
    with torch.no_grad():
        block: Any
        for block in model.blocks:  # so that the result depends on earlier tokens
            block.query.weight *= 6
            block.out.weight *= 6
    return model


class Recurrent(nn.Module):
    """A model whose state is not a KV cache: each token changes it, independent of the position."""

    state: Tensor

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.embedding = nn.Embedding(len(WORDS), 16)
        self.out = nn.Linear(16, len(WORDS))
        self.register_buffer("state", torch.zeros(1, 16))

    def forward(self, tokens: Tensor, start: Tensor) -> Tensor:
        self.state.add_(self.embedding(tokens[:, 0]))
        return self.out(torch.sin(self.state)) + start * 0


CACHED: dict[str, object] = {
    "get_max_seq_len": 8,
    "get_max_context_len": CONTEXT,
    "get_vocab_size": 40,
    "get_eos_ids": [END],
    "get_bos_id": 1,
    "use_kv_cache": True,
    "enable_dynamic_shape": True,
}
KINDS: dict[str, dict[str, object]] = {
    "started": CACHED,
    "positions": CACHED,
    "half": CACHED,
    "single": {**CACHED, "enable_dynamic_shape": False},
    "recurrent": {**CACHED, "enable_dynamic_shape": False},
    "forgetful": {**CACHED, "use_kv_cache": False, "get_max_seq_len": CONTEXT},
}


@functools.cache
def text_program(kind: str) -> bytes:
    """Returns the program of a kind of model."""
    model = llama()
    count = {1: Dim("count", min=1, max=CONTEXT - 1)}
    tokens, start = torch.zeros(1, 3, dtype=torch.int64), torch.tensor([0])
    exported: Any
    match kind:
        case "single":
            exported = export(LlamaFromStart(model).eval(), (tokens[:, :1], start))
        case "recurrent":
            exported = export(Recurrent().eval(), (tokens[:, :1], start))
        case "forgetful":
            exported = export(WithoutCache(model).eval(), (tokens,), dynamic_shapes=(count,))
        case "positions":
            exported = export(model, (tokens, torch.arange(3)), dynamic_shapes=(count, {0: count[1]}))
        case _:
            wrapped = Half(model) if kind == "half" else LlamaFromStart(model)
            exported = export(wrapped.eval(), (tokens, start), dynamic_shapes=(count, None))
    return rushlight.compile(exported, constant_methods=KINDS[kind]).buffer


@functools.cache
def with_metadata(**constants: object) -> bytes:
    """Returns a program with constant methods. It compiles fast."""

    class Fixed(nn.Module):
        def forward(self, tokens: Tensor, start: Tensor) -> Tensor:
            return (tokens + start).float()[..., None].expand(-1, -1, 5) * 1.0

    inputs = (torch.zeros(1, 1, dtype=torch.int64), torch.tensor([0]))
    given = {name: list(value) if isinstance(value, tuple) else value for name, value in constants.items()}
    return rushlight.compile(Fixed(), inputs, partitioner=(), constant_methods=given).buffer


def greedy(model: Llama, prompt: Sequence[int], count: int) -> list[int]:
    """Generates tokens in eager PyTorch, one at a time, up to the end token."""
    model = copy.deepcopy(model)
    tokens = list(prompt)
    with torch.no_grad():
        logits = model(torch.tensor([tokens]), torch.arange(len(tokens)))
        while len(tokens) < len(prompt) + count:
            tokens.append(int(logits.argmax()))
            if tokens[-1] == END:
                break
            logits = model(torch.tensor([tokens[-1:]]), torch.tensor([len(tokens) - 1]))
    return tokens[len(prompt) :]


def text(tokens: Sequence[int]) -> str:
    """Returns the text of generated tokens, without the end token."""
    return Words().decode([token for token in tokens if token != END])


SIZE = 32  # the size of embeddings


class Decoder(nn.Module):
    """The layers of Llama after the embeddings."""

    def __init__(self, model: Llama) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor, start: Tensor) -> Tensor:
        model: Any = self.model
        position = start + torch.arange(x.shape[1])
        turn = model.cosine[position], model.sine[position]
        mask = model.places <= position[:, None]
        for block in model.blocks:
            x = block(x, position, turn, mask)
        logits: Tensor = model.head(model.norm(x[:, -1]))
        return logits


class Eyes(nn.Module):
    """An image encoder: [1, 3, 8, 8] to 4 embeddings."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, SIZE, 4, 4)

    def forward(self, image: Tensor) -> Tensor:
        return self.patches(image).flatten(2).transpose(1, 2)


class Ears(nn.Module):
    """A sound encoder: [1, 6, 5] to 5 embeddings."""

    def __init__(self) -> None:
        super().__init__()
        self.bins = nn.Linear(6, SIZE)

    def forward(self, sound: Tensor) -> Tensor:
        return self.bins(sound.transpose(1, 2))


@functools.cache
def multimodal() -> tuple[Llama, Eyes, Ears]:
    model = llama()
    return model, Eyes().eval(), Ears().eval()


@functools.cache
def multimodal_program() -> bytes:
    """Returns a program for text, images and sound."""
    model, eyes, ears = multimodal()
    count = {1: Dim("count", min=1, max=CONTEXT - 1)}
    parts = {
        "token_embedding": export(
            model.tokens, (torch.zeros(1, 3, dtype=torch.int64),), dynamic_shapes=(count,)
        ),
        "text_decoder": export(
            Decoder(model).eval(), (torch.zeros(1, 3, SIZE), torch.tensor([0])), dynamic_shapes=(count, None)
        ),
        "vision_encoder": export(eyes, (torch.zeros(1, 3, 8, 8),)),
        "audio_encoder": export(ears, (torch.zeros(1, 6, 5),)),
    }
    return rushlight.compile(parts, constant_methods=CACHED).buffer


def greedy_embeddings(parts: Sequence[Tensor], count: int) -> list[int]:
    """Generates tokens after embeddings, in eager PyTorch."""
    model = copy.deepcopy(multimodal()[0])
    decoder = Decoder(model)
    tokens: list[int] = []
    with torch.no_grad():
        x, position = torch.cat(list(parts), 1), 0
        while len(tokens) < count:
            logits = decoder(x, torch.tensor([position]))
            tokens.append(int(logits.argmax()))
            if tokens[-1] == END:
                break
            position += x.shape[1]
            x = model.tokens(torch.tensor([tokens[-1:]]))
    return tokens
