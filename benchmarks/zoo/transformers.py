"""Models of transformers with two small layers each and random weights."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.export import Dim

from benchmarks.models import import_torchvision
from benchmarks.zoo.cases import ZOO, Call, Method, Model, model, randint, zoo

GROUP = "transformers"


def library() -> Any:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import_torchvision()
    import transformers

    transformers.logging.set_verbosity_error()
    return transformers


class Named(nn.Module):
    """A model called with tensors, in the order of `names`; gives the fields `picked` of its output."""

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


# name: (model class, configuration class, its options)
ENCODERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "roberta": ("RobertaModel", "RobertaConfig", {**TEXT, "max_position_embeddings": 66}),
    "electra": ("ElectraModel", "ElectraConfig", {**TEXT, "embedding_size": 16}),
    "albert": ("AlbertModel", "AlbertConfig", {**TEXT, "embedding_size": 16}),
    "mpnet": ("MPNetModel", "MPNetConfig", {**TEXT, "max_position_embeddings": 66}),
    "deberta": (
        "DebertaModel",
        "DebertaConfig",
        {**TEXT, "relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
    ),
    "deberta_v2": (
        "DebertaV2Model",
        "DebertaV2Config",
        {**TEXT, "relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_buckets": 8},
    ),
    "camembert": ("CamembertModel", "CamembertConfig", {**TEXT, "max_position_embeddings": 66}),
    "xlm_roberta": ("XLMRobertaModel", "XLMRobertaConfig", {**TEXT, "max_position_embeddings": 66}),
    "layoutlm": ("LayoutLMModel", "LayoutLMConfig", TEXT),
    "mobilebert": (
        "MobileBertModel",
        "MobileBertConfig",
        {**TEXT, "embedding_size": 16, "intra_bottleneck_size": 16, "true_hidden_size": 16},
    ),
    "squeezebert": ("SqueezeBertModel", "SqueezeBertConfig", {**TEXT, "embedding_size": 32}),
    "convbert": ("ConvBertModel", "ConvBertConfig", {**TEXT, "embedding_size": 32}),
    "fnet": ("FNetModel", "FNetConfig", TEXT),
    "funnel": (
        "FunnelModel",
        "FunnelConfig",
        {"vocab_size": 200, "block_sizes": [1, 1], "d_model": 32, "n_head": 4, "d_head": 8, "d_inner": 64},
    ),
    "xlnet": (
        "XLNetModel",
        "XLNetConfig",
        {"vocab_size": 200, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 64},
    ),
    "big_bird": ("BigBirdModel", "BigBirdConfig", {**TEXT, "attention_type": "original_full"}),
    "modernbert": (
        "ModernBertModel",
        "ModernBertConfig",
        {
            **TEXT,
            "pad_token_id": 0,
            "bos_token_id": 1,
            "eos_token_id": 2,
            "cls_token_id": 3,
            "sep_token_id": 4,
        },
    ),
    "nystromformer": (
        "NystromformerModel",
        "NystromformerConfig",
        {**TEXT, "segment_means_seq_len": 8, "num_landmarks": 8},
    ),
    "rembert": ("RemBertModel", "RemBertConfig", {**TEXT, "input_embedding_size": 16}),
    "esm": (
        "EsmModel",
        "EsmConfig",
        {**TEXT, "pad_token_id": 1, "mask_token_id": 2, "position_embedding_type": "rotary"},
    ),
    "nomic_like_gpt_neox": ("GPTNeoXModel", "GPTNeoXConfig", {**DECODER, "use_cache": False}),
    "mt5_encoder": (
        "MT5EncoderModel",
        "MT5Config",
        {"vocab_size": 200, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4},
    ),
}
DECODERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "opt": (
        "OPTForCausalLM",
        "OPTConfig",
        {**TEXT, "ffn_dim": 64, "max_position_embeddings": 64, "word_embed_proj_dim": 32},
    ),
    "gpt_neo": (
        "GPTNeoForCausalLM",
        "GPTNeoConfig",
        {
            "vocab_size": 200,
            "hidden_size": 32,
            "num_layers": 2,
            "num_heads": 4,
            "attention_types": [[["global", "local"], 1]],
            "window_size": 4,
        },
    ),
    "gptj": ("GPTJForCausalLM", "GPTJConfig", {**GPT, "rotary_dim": 4}),
    "gpt_bigcode": ("GPTBigCodeForCausalLM", "GPTBigCodeConfig", GPT),
    "codegen": ("CodeGenForCausalLM", "CodeGenConfig", {**GPT, "rotary_dim": 4}),
    "bloom": (
        "BloomForCausalLM",
        "BloomConfig",
        {"vocab_size": 200, "hidden_size": 32, "n_layer": 2, "n_head": 4},
    ),
    "falcon": ("FalconForCausalLM", "FalconConfig", {**TEXT}),
    "mpt": (
        "MptForCausalLM",
        "MptConfig",
        {"vocab_size": 200, "d_model": 32, "n_layers": 2, "n_heads": 4, "max_seq_len": 32},
    ),
    "phi": ("PhiForCausalLM", "PhiConfig", DECODER),
    "phi3": ("Phi3ForCausalLM", "Phi3Config", {**DECODER, "pad_token_id": 0}),
    "gemma": ("GemmaForCausalLM", "GemmaConfig", {**DECODER, "head_dim": 8}),
    "gemma2": ("Gemma2ForCausalLM", "Gemma2Config", {**DECODER, "head_dim": 8, "sliding_window": 4}),
    "gemma3": ("Gemma3ForCausalLM", "Gemma3TextConfig", {**DECODER, "head_dim": 8, "sliding_window": 4}),
    "mistral": ("MistralForCausalLM", "MistralConfig", {**DECODER, "sliding_window": 4}),
    "mixtral": (
        "MixtralForCausalLM",
        "MixtralConfig",
        {**DECODER, "num_local_experts": 4, "num_experts_per_tok": 2},
    ),
    "qwen2_moe": (
        "Qwen2MoeForCausalLM",
        "Qwen2MoeConfig",
        {
            **DECODER,
            "num_experts": 4,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 16,
            "shared_expert_intermediate_size": 16,
        },
    ),
    "qwen3": ("Qwen3ForCausalLM", "Qwen3Config", {**DECODER, "head_dim": 8}),
    "qwen3_moe": (
        "Qwen3MoeForCausalLM",
        "Qwen3MoeConfig",
        {**DECODER, "head_dim": 8, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16},
    ),
    "olmo2": ("Olmo2ForCausalLM", "Olmo2Config", DECODER),
    "olmoe": ("OlmoeForCausalLM", "OlmoeConfig", {**DECODER, "num_experts": 4, "num_experts_per_tok": 2}),
    "stablelm": ("StableLmForCausalLM", "StableLmConfig", DECODER),
    "starcoder2": ("Starcoder2ForCausalLM", "Starcoder2Config", DECODER),
    "granite": ("GraniteForCausalLM", "GraniteConfig", DECODER),
    "cohere": ("CohereForCausalLM", "CohereConfig", DECODER),
    "smollm3": ("SmolLM3ForCausalLM", "SmolLM3Config", DECODER),
    "glm": ("GlmForCausalLM", "GlmConfig", {**DECODER, "head_dim": 8}),
    "deepseek_v2": (
        "DeepseekV2ForCausalLM",
        "DeepseekV2Config",
        {
            **DECODER,
            "num_key_value_heads": 4,
            "n_routed_experts": 4,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 16,
            "kv_lora_rank": 8,
            "q_lora_rank": None,
            "qk_nope_head_dim": 8,
            "qk_rope_head_dim": 8,
            "v_head_dim": 8,
            "n_group": 1,
            "topk_group": 1,
            "first_k_dense_replace": 1,
            "n_shared_experts": 1,
        },
    ),
    "deepseek_v3": (
        "DeepseekV3ForCausalLM",
        "DeepseekV3Config",
        {
            **DECODER,
            "num_key_value_heads": 4,
            "n_routed_experts": 4,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 16,
            "kv_lora_rank": 8,
            "q_lora_rank": 8,
            "qk_nope_head_dim": 8,
            "qk_rope_head_dim": 8,
            "v_head_dim": 8,
            "n_group": 2,
            "topk_group": 1,
            "first_k_dense_replace": 1,
            "n_shared_experts": 1,
        },
    ),
    "persimmon": ("PersimmonForCausalLM", "PersimmonConfig", DECODER),
    "llama4_text": (
        "Llama4ForCausalLM",
        "Llama4TextConfig",
        {
            **DECODER,
            "head_dim": 8,
            "num_local_experts": 2,
            "intermediate_size_mlp": 64,
            "attention_chunk_size": 8,
        },
    ),
    "gpt_oss": (
        "GptOssForCausalLM",
        "GptOssConfig",
        {**DECODER, "head_dim": 8, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 4},
    ),
    "mamba": (
        "MambaForCausalLM",
        "MambaConfig",
        {"vocab_size": 200, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 4, "conv_kernel": 4},
    ),
    "mamba2": (
        "Mamba2ForCausalLM",
        "Mamba2Config",
        {
            "vocab_size": 200,
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "state_size": 8,
            "num_heads": 8,
            "head_dim": 8,
            "n_groups": 2,
            "chunk_size": 4,
        },
    ),
    "falcon_mamba": (
        "FalconMambaForCausalLM",
        "FalconMambaConfig",
        {"vocab_size": 200, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 4},
    ),
    "rwkv": (
        "RwkvForCausalLM",
        "RwkvConfig",
        {"vocab_size": 200, "hidden_size": 32, "num_hidden_layers": 2, "context_length": 16},
    ),
    "recurrent_gemma": (
        "RecurrentGemmaForCausalLM",
        "RecurrentGemmaConfig",
        {**DECODER, "head_dim": 8, "num_hidden_layers": 3, "lru_width": 32, "attention_window_size": 4},
    ),
    "jamba": (
        "JambaForCausalLM",
        "JambaConfig",
        {
            **DECODER,
            "use_mamba_kernels": False,
            "num_experts": 2,
            "num_experts_per_tok": 1,
            "mamba_d_state": 4,
            "attn_layer_period": 2,
            "attn_layer_offset": 1,
            "expert_layer_period": 2,
            "expert_layer_offset": 1,
        },
    ),
    "bamba": (
        "BambaForCausalLM",
        "BambaConfig",
        {**DECODER, "mamba_n_heads": 8, "mamba_d_head": 8, "mamba_d_state": 8, "attn_layer_indices": [1]},
    ),
    "xglm": (
        "XGLMForCausalLM",
        "XGLMConfig",
        {"vocab_size": 200, "d_model": 32, "num_layers": 2, "attention_heads": 4, "ffn_dim": 64},
    ),
    "ctrl": (
        "CTRLLMHeadModel",
        "CTRLConfig",
        {"vocab_size": 200, "n_embd": 32, "n_layer": 2, "n_head": 4, "dff": 64},
    ),
    "openai_gpt": ("OpenAIGPTLMHeadModel", "OpenAIGPTConfig", GPT),
    "nemotron": ("NemotronForCausalLM", "NemotronConfig", DECODER),
    "lfm2": ("Lfm2ForCausalLM", "Lfm2Config", {**DECODER, "layer_types": ["conv", "full_attention"]}),
}
VISION: dict[str, tuple[str, str, dict[str, Any], tuple[int, ...]]] = {
    "deit": ("DeiTModel", "DeiTConfig", IMAGE, (1, 3, 32, 32)),
    "beit": ("BeitModel", "BeitConfig", IMAGE, (1, 3, 32, 32)),
    "dinov2": ("Dinov2Model", "Dinov2Config", {**IMAGE}, (1, 3, 32, 32)),
    "dinov2_other_size": ("Dinov2Model", "Dinov2Config", {**IMAGE}, (1, 3, 48, 40)),
    "vit_mae_like_vit_msn": ("ViTMSNModel", "ViTMSNConfig", IMAGE, (1, 3, 32, 32)),
    "swinv2": (
        "Swinv2Model",
        "Swinv2Config",
        {
            "image_size": 32,
            "patch_size": 2,
            "embed_dim": 16,
            "depths": [2, 2],
            "num_heads": [2, 4],
            "window_size": 4,
        },
        (1, 3, 32, 32),
    ),
    "convnext": (
        "ConvNextModel",
        "ConvNextConfig",
        {"depths": [1, 1, 1, 1], "hidden_sizes": [8, 16, 16, 16]},
        (1, 3, 32, 32),
    ),
    "convnextv2": (
        "ConvNextV2Model",
        "ConvNextV2Config",
        {"depths": [1, 1, 1, 1], "hidden_sizes": [8, 16, 16, 16]},
        (1, 3, 32, 32),
    ),
    "resnet": (
        "ResNetModel",
        "ResNetConfig",
        {"embedding_size": 16, "hidden_sizes": [16, 32], "depths": [1, 1]},
        (1, 3, 32, 32),
    ),
    "regnet": (
        "RegNetModel",
        "RegNetConfig",
        {"embedding_size": 16, "hidden_sizes": [16, 32], "depths": [1, 1], "groups_width": 8},
        (1, 3, 32, 32),
    ),
    "mobilevit": (
        "MobileViTModel",
        "MobileViTConfig",
        {"image_size": 64, "hidden_sizes": [32, 40, 48], "neck_hidden_sizes": [8, 8, 16, 24, 32, 40, 64]},
        (1, 3, 64, 64),
    ),
    "mobilenet_v2": ("MobileNetV2Model", "MobileNetV2Config", {"image_size": 32}, (1, 3, 32, 32)),
    "segformer": (
        "SegformerModel",
        "SegformerConfig",
        {"depths": [1, 1, 1, 1], "hidden_sizes": [8, 16, 16, 32], "num_attention_heads": [1, 2, 2, 4]},
        (1, 3, 64, 64),
    ),
    "pvt": (
        "PvtModel",
        "PvtConfig",
        {
            "image_size": 64,
            "depths": [1, 1, 1, 1],
            "hidden_sizes": [8, 16, 16, 32],
            "num_attention_heads": [1, 2, 2, 4],
        },
        (1, 3, 64, 64),
    ),
    "poolformer": (
        "PoolFormerModel",
        "PoolFormerConfig",
        {"depths": [1, 1, 1, 1], "hidden_sizes": [8, 16, 16, 32]},
        (1, 3, 64, 64),
    ),
    "bit": (
        "BitModel",
        "BitConfig",
        {
            "embedding_size": 16,
            "hidden_sizes": [16, 32],
            "depths": [1, 1],
            "layer_type": "preactivation",
            "num_groups": 2,
        },
        (1, 3, 32, 32),
    ),
    "hiera": (
        "HieraModel",
        "HieraConfig",
        {"image_size": [64, 64], "embed_dim": 16, "depths": [1, 1, 1, 1], "num_heads": [1, 2, 2, 2]},
        (1, 3, 64, 64),
    ),
    "clip_vision": ("CLIPVisionModel", "CLIPVisionConfig", IMAGE, (1, 3, 32, 32)),
    "siglip_vision": ("SiglipVisionModel", "SiglipVisionConfig", IMAGE, (1, 3, 32, 32)),
    "vivit": (
        "VivitModel",
        "VivitConfig",
        {**IMAGE, "num_frames": 4, "tubelet_size": [2, 8, 8]},
        (1, 4, 3, 32, 32),
    ),
    "videomae": ("VideoMAEModel", "VideoMAEConfig", {**IMAGE, "num_frames": 4}, (1, 4, 3, 32, 32)),
    "timesformer": ("TimesformerModel", "TimesformerConfig", {**IMAGE, "num_frames": 4}, (1, 4, 3, 32, 32)),
    "focalnet": (
        "FocalNetModel",
        "FocalNetConfig",
        {
            "image_size": 32,
            "embed_dim": 16,
            "depths": [1, 1],
            "focal_levels": [2, 2],
            "focal_windows": [3, 3],
            "hidden_sizes": [16, 32],
        },
        (1, 3, 32, 32),
    ),
}


def _text(name: str, row: tuple[str, str, dict[str, Any]], picked: str, **fixed: Any) -> None:
    cls, config, options = row

    def build() -> Model:
        return model(Named(make(cls, config, **options), ["input_ids"], [picked], **fixed), ids(1, 8))

    ZOO[f"{GROUP}/{name}"] = build


def _vision(name: str, row: tuple[str, str, dict[str, Any], tuple[int, ...]]) -> None:
    cls, config, options, shape = row

    def build() -> Model:
        fixed = (
            {"interpolate_pos_encoding": True} if name.endswith("other_size") and "dino" not in name else {}
        )
        return model(
            Named(make(cls, config, **options), ["pixel_values"], ["last_hidden_state"], **fixed),
            torch.randn(shape),
        )

    ZOO[f"{GROUP}/{name}"] = build


for _name, _row in ENCODERS.items():
    _text(_name, _row, "last_hidden_state")
for _name, _row in DECODERS.items():
    _text(_name, _row, "logits", use_cache=False)
for _name, _image_row in VISION.items():
    _vision(_name, _image_row)


@zoo(GROUP)
def bert_with_padding() -> Model:
    network = make("BertForSequenceClassification", "BertConfig", **TEXT)
    mask = torch.tensor([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]])
    return model(Named(network, ["input_ids", "attention_mask"], ["logits"]), ids(2, 6), mask)


@zoo(GROUP)
def bert_dynamic_both() -> Model:
    network = make("BertModel", "BertConfig", **TEXT)
    b, s = Dim("b", min=1, max=4), Dim("s", min=2, max=16)
    dims = {0: b, 1: s}
    m = Named(network, ["input_ids", "attention_mask"], ["last_hidden_state", "pooler_output"])
    others = [
        (ids(1, 16), torch.ones(1, 16, dtype=torch.int64)),
        (ids(4, 2), torch.ones(4, 2, dtype=torch.int64)),
    ]
    return model(m, ids(2, 6), torch.ones(2, 6, dtype=torch.int64), dynamic=((dims, dims),), others=others)


@zoo(GROUP)
def gemma_dynamic() -> Model:
    network = make("GemmaForCausalLM", "GemmaConfig", **{**DECODER, "head_dim": 8})
    m = Named(network, ["input_ids"], ["logits"], use_cache=False)
    return model(m, ids(1, 8), dynamic=(({1: Dim("s", min=2, max=32)},),), others=[ids(1, 32), ids(1, 3)])


@zoo(GROUP)
def llama_half() -> Model:
    network = make("LlamaForCausalLM", "LlamaConfig", **DECODER).to(torch.float16)
    return model(Named(network, ["input_ids"], ["logits"], use_cache=False), ids(1, 8), tolerance=2e-2)


@zoo(GROUP)
def llama_rope_scaled() -> Model:
    rope = {
        "rope_type": "llama3",
        "rope_theta": 1e4,
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 32,
    }
    network = make("LlamaForCausalLM", "LlamaConfig", **DECODER, rope_parameters=rope)
    return model(Named(network, ["input_ids"], ["logits"], use_cache=False), ids(1, 8))


@zoo(GROUP)
def llama_dynamic_cache_returned() -> Model:
    """Prefill and decode with the cache as inputs and outputs of a varying length."""
    t = library()
    network = make("LlamaForCausalLM", "LlamaConfig", **DECODER)

    class Decode(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(
            self, token: torch.Tensor, position: torch.Tensor, caches: list[tuple[torch.Tensor, torch.Tensor]]
        ) -> Any:
            cache = t.DynamicCache()
            for i, (k, v) in enumerate(caches):
                cache.update(k, v, i)
            out = self.network(input_ids=token, position_ids=position, past_key_values=cache, use_cache=True)
            return out.logits, [(layer.keys, layer.values) for layer in out.past_key_values.layers]

    def caches(n: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
        return [(torch.randn(1, 2, n, 8), torch.randn(1, 2, n, 8)) for _ in range(2)]

    dims = {2: Dim.AUTO(min=2, max=12)}
    dynamic = (None, None, [(dims, dims), (dims, dims)])
    others = [(ids(1, 1), torch.tensor([[k]]), caches(k)) for k in (2, 7, 12)]
    return model(Decode(), ids(1, 1), torch.tensor([[4]]), caches(4), dynamic=dynamic, others=others)


@zoo(GROUP)
def gpt2_static_cache() -> Model:
    t = library()
    from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

    config = t.GPT2Config(**GPT, use_cache=True)
    network = t.GPT2LMHeadModel(config).eval()
    network.generation_config = t.GenerationConfig(
        use_cache=True,
        cache_implementation="static",
        max_length=16,
        cache_config={"batch_size": 1, "max_cache_len": 16},
    )
    m = TorchExportableModuleWithStaticCache(network, batch_size=1, max_cache_len=16)
    calls = [Call("forward", (ids(1, 1), torch.tensor([i])), {}) for i in range(4)]
    calls = [Call(c.method, (), {"input_ids": c.args[0], "cache_position": c.args[1]}) for c in calls]
    return Model({"forward": Method(m, (), calls[0].kwargs)}, calls)


@zoo(GROUP)
def gemma2_hybrid_cache() -> Model:
    t = library()
    from transformers.integrations.executorch import TorchExportableModuleWithHybridCache

    network = make("Gemma2ForCausalLM", "Gemma2Config", **{**DECODER, "head_dim": 8, "sliding_window": 8})
    network.generation_config = t.GenerationConfig(
        use_cache=True, cache_implementation="hybrid", max_length=16
    )
    m = TorchExportableModuleWithHybridCache(network, batch_size=1, max_cache_len=16)
    calls = [
        Call("forward", (), {"input_ids": ids(1, 1), "cache_position": torch.tensor([i])}) for i in range(10)
    ]
    return Model({"forward": Method(m, (), calls[0].kwargs)}, calls)


@zoo(GROUP)
def t5() -> Model:
    network = make(
        "T5ForConditionalGeneration",
        "T5Config",
        vocab_size=200,
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=2,
        num_heads=4,
        decoder_start_token_id=0,
    )
    return model(
        Named(network, ["input_ids", "decoder_input_ids"], ["logits"], use_cache=False), ids(1, 8), ids(1, 5)
    )


def _seq2seq(name: str, cls: str, config: str, **more: Any) -> None:
    def build() -> Model:
        options = dict(
            vocab_size=200,
            d_model=32,
            encoder_layers=1,
            decoder_layers=1,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            encoder_ffn_dim=64,
            decoder_ffn_dim=64,
            max_position_embeddings=64,
            pad_token_id=1,
            bos_token_id=0,
            eos_token_id=2,
            decoder_start_token_id=2,
        )
        network = make(cls, config, **{**options, **more})
        return model(
            Named(network, ["input_ids", "decoder_input_ids"], ["logits"], use_cache=False),
            ids(1, 8),
            ids(1, 5),
        )

    ZOO[f"{GROUP}/{name}"] = build


_seq2seq("bart", "BartForConditionalGeneration", "BartConfig")
_seq2seq("mbart", "MBartForConditionalGeneration", "MBartConfig")
_seq2seq("pegasus", "PegasusForConditionalGeneration", "PegasusConfig")
_seq2seq("marian", "MarianMTModel", "MarianConfig")
_seq2seq("m2m_100", "M2M100ForConditionalGeneration", "M2M100Config")
_seq2seq("blenderbot", "BlenderbotForConditionalGeneration", "BlenderbotConfig")


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
def clip() -> Model:
    t = library()
    text = dict(
        vocab_size=200,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=16,
        eos_token_id=199,
    )
    network = make(
        "CLIPModel",
        t.CLIPConfig(text_config=text, vision_config={**IMAGE, "num_hidden_layers": 1}, projection_dim=16),
    )
    m = Named(network, ["input_ids", "pixel_values"], ["logits_per_image", "text_embeds", "image_embeds"])
    return model(m, ids(2, 6), torch.randn(2, 3, 32, 32))


@zoo(GROUP)
def siglip() -> Model:
    t = library()
    text = dict(
        vocab_size=200,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=16,
    )
    network = make(
        "SiglipModel", t.SiglipConfig(text_config=text, vision_config={**IMAGE, "num_hidden_layers": 1})
    )
    return model(
        Named(network, ["input_ids", "pixel_values"], ["logits_per_image"]),
        ids(2, 6),
        torch.randn(2, 3, 32, 32),
    )


@zoo(GROUP)
def blip_captioning() -> Model:
    t = library()
    text = dict(
        vocab_size=200,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=64,
        encoder_hidden_size=32,
        projection_dim=16,
        bos_token_id=1,
        pad_token_id=0,
        sep_token_id=2,
    )
    network = make(
        "BlipForConditionalGeneration",
        t.BlipConfig(text_config=text, vision_config={**IMAGE, "num_hidden_layers": 1}, projection_dim=16),
    )
    return model(
        Named(network, ["pixel_values", "input_ids"], ["logits"]), torch.randn(1, 3, 32, 32), ids(1, 5)
    )


@zoo(GROUP)
def llava() -> Model:
    t = library()
    config = t.LlavaConfig(
        vision_config=t.CLIPVisionConfig(**IMAGE),
        text_config=t.LlamaConfig(**DECODER),
        image_token_index=199,
        vision_feature_layer=-1,
    )
    network = make("LlavaForConditionalGeneration", config)
    tokens = torch.cat([torch.full((1, 16), 199), randint(190, 1, 4)], 1)
    return model(
        Named(network, ["input_ids", "pixel_values"], ["logits"], use_cache=False),
        tokens,
        torch.randn(1, 3, 32, 32),
    )


@zoo(GROUP)
def paligemma_like_idefics_vision() -> Model:
    network = make("Blip2VisionModel", "Blip2VisionConfig", **IMAGE)
    return model(Named(network, ["pixel_values"], ["last_hidden_state"]), torch.randn(1, 3, 32, 32))


@zoo(GROUP)
def vision_encoder_decoder() -> Model:
    t = library()
    config = t.VisionEncoderDecoderConfig.from_encoder_decoder_configs(
        t.ViTConfig(**IMAGE), t.BertConfig(**TEXT, is_decoder=True, add_cross_attention=True)
    )
    network = t.VisionEncoderDecoderModel(config=config).eval()
    return model(
        Named(network, ["pixel_values", "decoder_input_ids"], ["logits"], use_cache=False),
        torch.randn(1, 3, 32, 32),
        ids(1, 5),
    )


@zoo(GROUP)
def segformer_decoder() -> Model:
    network = make(
        "SegformerForSemanticSegmentation",
        "SegformerConfig",
        depths=[1, 1, 1, 1],
        hidden_sizes=[8, 16, 16, 32],
        num_attention_heads=[1, 2, 2, 4],
        decoder_hidden_size=16,
        num_labels=3,
    )
    return model(Named(network, ["pixel_values"], ["logits"]), torch.randn(1, 3, 64, 64))


@zoo(GROUP)
def dpt_depth() -> Model:
    network = make(
        "DPTForDepthEstimation",
        "DPTConfig",
        hidden_size=32,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=64,
        image_size=32,
        patch_size=8,
        backbone_out_indices=[0, 1, 2, 3],
        neck_hidden_sizes=[8, 8, 16, 16],
        fusion_hidden_size=8,
        is_hybrid=False,
        reassemble_factors=[4, 2, 1, 0.5],
    )
    return model(Named(network, ["pixel_values"], ["predicted_depth"]), torch.randn(1, 3, 32, 32))


@zoo(GROUP)
def yolos() -> Model:
    network = make(
        "YolosForObjectDetection",
        "YolosConfig",
        **{**IMAGE, "image_size": [32, 32]},
        num_detection_tokens=5,
        num_labels=3,
    )
    return model(Named(network, ["pixel_values"], ["logits", "pred_boxes"]), torch.randn(1, 3, 32, 32))


@zoo(GROUP)
def conditional_detr() -> Model:
    t = library()
    backbone = t.ResNetConfig(
        embedding_size=16,
        hidden_sizes=[16, 32, 32, 32],
        depths=[1, 1, 1, 1],
        layer_type="basic",
        out_features=["stage4"],
    )
    config = t.ConditionalDetrConfig(
        use_timm_backbone=False,
        backbone_config=backbone,
        d_model=32,
        encoder_layers=1,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        num_queries=8,
        use_pretrained_backbone=False,
        backbone=None,
        num_labels=4,
    )
    return model(
        Named(make("ConditionalDetrForObjectDetection", config), ["pixel_values"], ["logits", "pred_boxes"]),
        torch.randn(1, 3, 64, 64),
    )


@zoo(GROUP)
def mask2former_pixel_decoder() -> Model:
    t = library()
    backbone = t.SwinConfig(
        image_size=64,
        patch_size=4,
        embed_dim=8,
        depths=[1, 1, 1, 1],
        num_heads=[1, 1, 2, 2],
        window_size=2,
        out_features=["stage1", "stage2", "stage3", "stage4"],
    )
    config = t.Mask2FormerConfig(
        backbone_config=backbone,
        feature_size=32,
        mask_feature_size=32,
        hidden_dim=32,
        encoder_feedforward_dim=16,
        encoder_layers=1,
        decoder_layers=2,
        num_attention_heads=2,
        dim_feedforward=16,
        num_queries=4,
    )
    return model(
        Named(
            make("Mask2FormerForUniversalSegmentation", config), ["pixel_values"], ["class_queries_logits"]
        ),
        torch.randn(1, 3, 64, 64),
    )


@zoo(GROUP)
def sam_vision() -> Model:
    network = make(
        "SamVisionModel",
        "SamVisionConfig",
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        mlp_dim=64,
        image_size=64,
        patch_size=16,
        output_channels=16,
        window_size=2,
        global_attn_indexes=[1],
        num_pos_feats=8,
    )
    return model(Named(network, ["pixel_values"], ["last_hidden_state"]), torch.randn(1, 3, 64, 64))


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
