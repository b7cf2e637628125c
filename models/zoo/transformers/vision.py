"""Models for images."""

from __future__ import annotations

from typing import Any

import torch

from models.zoo.cases import ZOO, Model, model, randint, zoo
from models.zoo.transformers.common import DECODER, GROUP, IMAGE, TEXT, Named, ids, library, make

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


for _name, _image_row in VISION.items():
    _vision(_name, _image_row)


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
