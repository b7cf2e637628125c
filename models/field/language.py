"""Networks of the package transformers with random weights: encoders of text, speech and images."""

from __future__ import annotations

import os
from typing import Any

import torch
from torch import nn

from models.common import image, import_torchvision
from models.field.entry import First, entry, register, seeded, tokens

_BERT = {"vocab_size": 1000, "hidden_size": 384, "num_hidden_layers": 4, "num_attention_heads": 12}
_WIDE = {**_BERT, "intermediate_size": 1536}

# name: class, configuration, options, number of tokens
_TEXT: dict[str, tuple[str, str, dict[str, Any], int]] = {
    "roberta_512": ("RobertaModel", "RobertaConfig", {**_WIDE, "max_position_embeddings": 514}, 512),
    "distilbert": (
        "DistilBertModel",
        "DistilBertConfig",
        {"vocab_size": 1000, "dim": 768, "n_layers": 2, "n_heads": 12, "hidden_dim": 3072},
        64,
    ),
    "albert": ("AlbertModel", "AlbertConfig", {**_WIDE, "embedding_size": 128}, 128),
    "mobilebert": ("MobileBertModel", "MobileBertConfig", {"vocab_size": 1000, "num_hidden_layers": 6}, 128),
    "squeezebert": ("SqueezeBertModel", "SqueezeBertConfig", {**_WIDE, "embedding_size": 384}, 128),
    "deberta_v2": (
        "DebertaV2Model",
        "DebertaV2Config",
        {**_WIDE, "relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_buckets": 64},
        128,
    ),
    "t5_encoder": (
        "T5EncoderModel",
        "T5Config",
        {"vocab_size": 1000, "d_model": 512, "d_kv": 64, "d_ff": 2048, "num_layers": 4, "num_heads": 8},
        128,
    ),
}


def _library() -> Any:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import_torchvision()
    import transformers

    transformers.logging.set_verbosity_error()
    return transformers


def _make(cls: str, config: str, **options: Any) -> nn.Module:
    library = _library()
    return getattr(library, cls)(getattr(library, config)(**options))


def _text(name: str, cls: str, config: str, options: dict[str, Any], count: int) -> None:
    def build() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
        network = First(_make(cls, config, **options), ("last_hidden_state",), ("input_ids",))
        return network, (tokens(1000, 1, count),)

    register(name, "text", build)


for _name, _row in _TEXT.items():
    _text(_name, *_row)


@entry("text")
def qwen3_prefill() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """64 tokens, no cache."""
    network = _make(
        "Qwen3Model",
        "Qwen3Config",
        vocab_size=1000,
        hidden_size=512,
        intermediate_size=1536,
        num_hidden_layers=4,
        num_attention_heads=8,
        num_key_value_heads=2,
        head_dim=64,
        use_cache=False,
    )
    return First(network, ("last_hidden_state",), ("input_ids",)), (tokens(1000, 1, 64),)


class _Encoder(nn.Module):
    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.network(x).last_hidden_state


@entry("speech")
def whisper_tiny_encoder() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """Ten seconds: 1000 frames of 80 bands."""
    network = _make(
        "WhisperModel",
        "WhisperConfig",
        d_model=384,
        encoder_layers=4,
        encoder_attention_heads=6,
        encoder_ffn_dim=1536,
        decoder_layers=1,
        decoder_attention_heads=6,
        decoder_ffn_dim=1536,
        max_source_positions=500,
        vocab_size=1000,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
    )
    return _Encoder(network.get_encoder()), (seeded(1, 80, 1000),)


@entry("speech")
def spectrogram_transformer() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    network = _make(
        "ASTModel",
        "ASTConfig",
        hidden_size=192,
        num_hidden_layers=6,
        num_attention_heads=3,
        intermediate_size=768,
        max_length=256,
    )
    return First(network, ("last_hidden_state",), ("input_values",)), (seeded(1, 256, 128),)


@entry("segmentation")
def segformer_b0() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    network = _make("SegformerForSemanticSegmentation", "SegformerConfig")
    return First(network, ("logits",), ("pixel_values",)), image(256)


@entry("detection")
def yolos_tiny() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    network = _make(
        "YolosForObjectDetection",
        "YolosConfig",
        hidden_size=192,
        num_hidden_layers=6,
        num_attention_heads=3,
        intermediate_size=768,
        image_size=[224, 224],
    )
    return First(network, ("logits", "pred_boxes"), ("pixel_values",)), image(224)
