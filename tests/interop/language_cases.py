"""Small language models and a tokenizer for both systems. This module imports neither system."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from models.wide import Llama, LlamaFromStart, LlamaWithoutCache
from torch.export import Dim, ExportedProgram, export

CONTEXT = 48
VOCABULARY = 120
PROMPT = "once upon a time there was"
KINDS = ("dynamic", "single", "without cache")


def write_tokenizer(folder: Path) -> Path:
    """Trains a tokenizer of ASCII characters and parts of words, and returns the path of its file."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer: Any = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=[*map(chr, range(33, 127)), "Ġ"],  # ASCII: all tokens are complete characters
        show_progress=False,
    )
    tokenizer.train_from_iterator(["once upon a time there was a small model on a device"] * 4, trainer)
    assert tokenizer.get_vocab_size() == VOCABULARY
    path = folder / "tokenizer.json"
    tokenizer.save(str(path))
    return path


def exported(kind: str) -> tuple[ExportedProgram, dict[str, Any]]:
    """Returns a model with random weights, and the constant methods of its program."""
    torch.manual_seed(5)
    model = Llama(
        width=32, layers=2, heads=4, shared=2, hidden=48, vocabulary=VOCABULARY, length=CONTEXT
    ).eval()
    model.requires_grad_(False)
    block: Any
    for block in model.blocks:  # so that the result depends on earlier tokens
        block.query.weight *= 6
        block.out.weight *= 6
    constants: dict[str, Any] = {
        "get_max_seq_len": CONTEXT - 1,
        "get_max_context_len": CONTEXT,
        "get_vocab_size": VOCABULARY,
        "get_bos_id": 0,
        "get_eos_ids": [1],
        "use_kv_cache": kind != "without cache",
        "enable_dynamic_shape": kind != "single",
    }
    tokens, start = torch.zeros(1, 3, dtype=torch.int64), torch.tensor([0])
    count = {1: Dim("count", min=1, max=CONTEXT - 1)}
    if kind == "single":
        return export(LlamaFromStart(model).eval(), (tokens[:, :1], start)), constants
    if kind == "without cache":
        return export(LlamaWithoutCache(model).eval(), (tokens,), dynamic_shapes=(count,)), constants
    return export(LlamaFromStart(model).eval(), (tokens, start), dynamic_shapes=(count, None)), constants
