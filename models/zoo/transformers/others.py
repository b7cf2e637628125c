"""Models for audio and other sequences."""

from __future__ import annotations

import torch
from torch import nn

from models.zoo.cases import Model, model, zoo
from models.zoo.transformers.common import GROUP, TEXT, Named, ids, make


@zoo(GROUP)
def whisper() -> Model:
    network = make(
        "WhisperForConditionalGeneration",
        "WhisperConfig",
        d_model=32,
        encoder_layers=1,
        encoder_attention_heads=4,
        encoder_ffn_dim=64,
        decoder_layers=1,
        decoder_attention_heads=4,
        decoder_ffn_dim=64,
        num_mel_bins=16,
        max_source_positions=50,
        vocab_size=200,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
    )
    m = Named(network, ["input_features", "decoder_input_ids"], ["logits"], use_cache=False)
    return model(m, torch.randn(1, 16, 100), ids(1, 4))


@zoo(GROUP)
def wav2vec2() -> Model:
    network = make(
        "Wav2Vec2Model",
        "Wav2Vec2Config",
        **TEXT,
        conv_dim=(16, 16),
        conv_stride=(4, 2),
        conv_kernel=(8, 3),
        num_feat_extract_layers=2,
        num_conv_pos_embeddings=4,
        num_conv_pos_embedding_groups=2,
    )
    return model(Named(network, ["input_values"], ["last_hidden_state"]), torch.randn(1, 400))


@zoo(GROUP)
def hubert() -> Model:
    network = make(
        "HubertModel",
        "HubertConfig",
        **TEXT,
        conv_dim=(16, 16),
        conv_stride=(4, 2),
        conv_kernel=(8, 3),
        num_feat_extract_layers=2,
        num_conv_pos_embeddings=4,
        num_conv_pos_embedding_groups=2,
    )
    return model(Named(network, ["input_values"], ["last_hidden_state"]), torch.randn(1, 400))


@zoo(GROUP)
def wavlm() -> Model:
    network = make(
        "WavLMModel",
        "WavLMConfig",
        **TEXT,
        conv_dim=(16, 16),
        conv_stride=(4, 2),
        conv_kernel=(8, 3),
        num_feat_extract_layers=2,
        num_conv_pos_embeddings=4,
        num_conv_pos_embedding_groups=2,
        num_buckets=8,
    )
    return model(Named(network, ["input_values"], ["last_hidden_state"]), torch.randn(1, 400))


@zoo(GROUP)
def audio_spectrogram_transformer() -> Model:
    network = make(
        "ASTModel",
        "ASTConfig",
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        patch_size=8,
        max_length=32,
        num_mel_bins=16,
    )
    return model(Named(network, ["input_values"], ["last_hidden_state"]), torch.randn(1, 32, 16))


@zoo(GROUP)
def perceiver() -> Model:
    network = make(
        "PerceiverModel",
        "PerceiverConfig",
        num_latents=8,
        d_latents=16,
        d_model=32,
        num_blocks=1,
        num_self_attends_per_block=1,
        num_self_attention_heads=2,
        num_cross_attention_heads=2,
    )
    return model(Named(network, ["inputs"], ["last_hidden_state"]), torch.randn(1, 10, 32))


@zoo(GROUP)
def decision_transformer() -> Model:
    network = make(
        "DecisionTransformerModel",
        "DecisionTransformerConfig",
        state_dim=5,
        act_dim=3,
        hidden_size=32,
        n_layer=1,
        n_head=4,
        max_ep_len=32,
    )
    names = ["states", "actions", "rewards", "returns_to_go", "timesteps", "attention_mask"]
    inputs = (
        torch.randn(1, 4, 5),
        torch.randn(1, 4, 3),
        torch.randn(1, 4, 1),
        torch.randn(1, 4, 1),
        torch.arange(4)[None],
        torch.ones(1, 4),
    )
    return model(Named(network, names, ["action_preds"]), *inputs)


@zoo(GROUP)
def time_series_transformer() -> Model:
    network = make(
        "PatchTSTModel",
        "PatchTSTConfig",
        num_input_channels=2,
        context_length=16,
        patch_length=4,
        patch_stride=4,
        d_model=16,
        num_attention_heads=2,
        num_hidden_layers=1,
        ffn_dim=32,
    )
    return model(Named(network, ["past_values"], ["last_hidden_state"]), torch.randn(1, 16, 2))


@zoo(GROUP)
def vits_flow_like_speecht5() -> Model:
    network = make(
        "SpeechT5HifiGan",
        "SpeechT5HifiGanConfig",
        model_in_dim=8,
        upsample_initial_channel=16,
        upsample_rates=[2, 2],
        upsample_kernel_sizes=[4, 4],
        resblock_kernel_sizes=[3],
        resblock_dilation_sizes=[[1, 3]],
    )

    class Vocode(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.network(x)

    return model(Vocode(), torch.randn(1, 6, 8))
