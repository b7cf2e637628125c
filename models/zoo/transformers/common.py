"""Shared code of the models: the import of transformers, small sizes and builders."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from models.common import import_torchvision
from models.zoo.cases import randint

GROUP = "transformers"


def library() -> Any:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import_torchvision()
    import transformers

    transformers.logging.set_verbosity_error()
    return transformers


class Named(nn.Module):
    """Wraps a model.

    Its inputs are passed by `names`, and the result has the fields `picked` of the output.
    """

    def __init__(self, network: nn.Module, names: Sequence[str], picked: Sequence[str], **fixed: Any) -> None:
        super().__init__()
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.add_(torch.randn(parameter.shape).mul(0.05).to(parameter.dtype))
        self.network, self.names, self.picked, self.fixed = network, list(names), list(picked), fixed

    def forward(self, *inputs: Any) -> Any:
        output = self.network(**dict(zip(self.names, inputs, strict=True)), **self.fixed)
        return tuple(output[name] for name in self.picked)


TEXT: dict[str, Any] = {
    "vocab_size": 200,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
}
DECODER = {
    **TEXT,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
IMAGE: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "image_size": 32,
    "patch_size": 8,
}
GPT: dict[str, Any] = {"vocab_size": 200, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}


def ids(*shape: int) -> torch.Tensor:
    return randint(200, *shape)


def make(cls: str, config: Any, **options: Any) -> nn.Module:
    t = library()
    made = getattr(t, config)(**options) if isinstance(config, str) else config
    return getattr(t, cls)(made).eval()
