"""Networks of timm: one or two of each family, with fewer layers if the family has an option for this."""

from __future__ import annotations

from typing import Any

import torch

from models.common import import_torchvision
from models.zoo.cases import ZOO, Model, model

GROUP = "timm"

_SMALL: dict[str, Any] = {"num_classes": 10}
# name: (image size, options)
NETWORKS: dict[str, tuple[int, dict[str, Any]]] = {
    "vit_tiny_patch16_224": (64, {"img_size": 64, "depth": 2}),
    "vit_small_patch14_reg4_dinov2": (56, {"img_size": 56, "depth": 2}),
    "deit3_small_patch16_224": (64, {"img_size": 64, "depth": 2}),
    "eva02_tiny_patch14_224": (56, {"img_size": 56, "depth": 2}),
    "beit_base_patch16_224": (64, {"img_size": 64, "depth": 2, "embed_dim": 96, "num_heads": 3}),
    "cait_xxs24_224": (64, {"img_size": 64, "depth": 2}),
    "xcit_nano_12_p16_224": (64, {"img_size": 64, "depth": 2}),
    "crossvit_tiny_240": (240, {}),
    "pit_ti_224": (224, {}),
    "twins_pcpvt_small": (64, {"img_size": 64}),
    "swin_tiny_patch4_window7_224": (56, {"img_size": 56, "depths": (1, 1, 1, 1)}),
    "swinv2_tiny_window8_256": (64, {"img_size": 64, "depths": (1, 1, 1, 1)}),
    "swinv2_cr_tiny_224": (224, {"depths": (1, 1, 1, 1)}),
    "volo_d1_224": (64, {"img_size": 64}),
    "maxvit_rmlp_pico_rw_256": (256, {}),
    "coatnet_nano_rw_224": (224, {}),
    "coat_tiny": (64, {"img_size": 64}),
    "convit_tiny": (64, {"img_size": 64, "depth": 12}),
    "convnext_atto": (64, {}),
    "convnextv2_atto": (64, {}),
    "efficientnet_lite0": (64, {}),
    "efficientnetv2_rw_t": (64, {}),
    "tf_efficientnet_b0": (64, {}),
    "mobilenetv1_100": (64, {}),
    "mobilenetv3_small_050": (64, {}),
    "mobilenetv4_hybrid_medium": (64, {}),
    "mobilevitv2_050": (64, {}),
    "mobileone_s0": (64, {}),
    "fastvit_t8": (64, {}),
    "repvit_m0_9": (64, {}),
    "repghostnet_050": (64, {}),
    "ghostnetv2_100": (64, {}),
    "efficientformer_l1": (224, {}),
    "efficientformerv2_s0": (224, {}),
    "efficientvit_b0": (64, {}),
    "efficientvit_m0": (224, {}),
    "levit_128s": (224, {}),
    "edgenext_xx_small": (64, {}),
    "tiny_vit_5m_224": (224, {}),
    "poolformer_s12": (64, {}),
    "caformer_s18": (64, {}),
    "mixer_s16_224": (64, {"img_size": 64}),
    "resmlp_12_224": (64, {"img_size": 64}),
    "gmlp_ti16_224": (64, {"img_size": 64}),
    "convmixer_768_32": (64, {}),
    "visformer_tiny": (64, {"img_size": 64}),
    "mvitv2_tiny": (224, {}),
    "hiera_tiny_224": (224, {}),
    "davit_tiny": (64, {}),
    "focalnet_tiny_srf": (64, {}),
    "gcvit_xxtiny": (224, {}),
    "nest_tiny": (224, {}),
    "pvt_v2_b0": (64, {}),
    "inception_next_atto": (64, {}),
    "rdnet_tiny": (64, {}),
    "starnet_s1": (64, {}),
    "vovnet39a": (64, {}),
    "dla34": (64, {}),
    "hrnet_w18_small": (64, {}),
    "res2net50_26w_4s": (64, {}),
    "resnest14d": (64, {}),
    "skresnet18": (64, {}),
    "seresnet18": (64, {}),
    "ecaresnet26t": (64, {}),
    "resnetv2_50": (64, {}),
    "nf_resnet26": (64, {}),
    "dm_nfnet_f0": (64, {}),
    "regnety_002": (64, {}),
    "rexnet_100": (64, {}),
    "dpn48b": (64, {}),
    "cspresnet50": (64, {}),
    "cspdarknet53": (64, {}),
    "halonet26t": (256, {}),
    "botnet26t_256": (256, {}),
    "lambda_resnet26t": (256, {}),
    "bat_resnext26ts": (256, {}),
    "haloregnetz_b": (224, {}),
    "tresnet_m": (64, {}),
    "xception41": (64, {}),
    "inception_v4": (96, {}),
    "nasnetalarge": (96, {}),
    "selecsls42": (64, {}),
    "hardcorenas_a": (64, {}),
    "tinynet_e": (64, {}),
    "lcnet_050": (64, {}),
    "mnasnet_small": (64, {}),
    "fbnetv3_b": (64, {}),
    "spnasnet_100": (64, {}),
    "sequencer2d_s": (224, {}),
    "shvit_s1": (224, {}),
    "swiftformer_xs": (224, {}),
    "naflexvit_base_patch16_gap": (64, {}),
    "mambaout_femto": (64, {}),
    "repvgg_a0": (64, {}),
    "gernet_s": (64, {}),
    "vgg11": (64, {}),
    "tnt_s_legacy_patch16_224": (224, {}),
    "samvit_base_patch16": (
        64,
        {"img_size": 64, "depth": 2, "global_attn_indexes": (1,), "embed_dim": 96, "num_heads": 3},
    ),
}


def _network(name: str, size: int, options: dict[str, Any]) -> None:
    def build() -> Model:
        import_torchvision()
        import timm

        return model(
            timm.create_model(name, pretrained=False, num_classes=10, **options),
            torch.randn(1, 3, size, size),
        )

    ZOO[f"{GROUP}/{name}"] = build


for _name, (_size, _options) in NETWORKS.items():
    _network(_name, _size, _options)
