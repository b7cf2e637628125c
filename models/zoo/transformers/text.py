"""Encoders, decoders and encoder-decoders for text."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.export import Dim

from models.zoo.cases import ZOO, Call, Method, Model, model, zoo
from models.zoo.transformers.common import DECODER, GPT, GROUP, TEXT, Named, ids, library, make

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


def _text(name: str, row: tuple[str, str, dict[str, Any]], picked: str, **fixed: Any) -> None:
    cls, config, options = row

    def build() -> Model:
        return model(Named(make(cls, config, **options), ["input_ids"], [picked], **fixed), ids(1, 8))

    ZOO[f"{GROUP}/{name}"] = build


for _name, _row in ENCODERS.items():
    _text(_name, _row, "last_hidden_state")
for _name, _row in DECODERS.items():
    _text(_name, _row, "logits", use_cache=False)


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
    """Prefill and decoding with the cache as inputs and outputs of a dynamic length."""
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
