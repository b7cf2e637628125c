"""Networks of torchvision and timm for images and video, with the input sizes of their training."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import nn

from models.common import image, import_torchvision
from models.field.entry import First, entry, register, seeded

_TORCHVISION: dict[str, dict[str, Any]] = {
    "squeezenet1_1": {},
    "googlenet": {"aux_logits": False, "init_weights": False},
    "inception_v3": {"aux_logits": False, "init_weights": False},
    "mnasnet1_0": {},
    "mobilenet_v3_large": {},
    "resnext50_32x4d": {},
    "regnet_y_400mf": {},
    "regnet_x_800mf": {},
    "efficientnet_v2_s": {},
    "swin_v2_t": {},
}

# name in timm: the size of the image
_TIMM = {
    "fastvit_t8": 256,
    "mobilevit_s": 256,
    "repvit_m1": 224,
    "poolformer_s12": 224,
    "efficientformerv2_s0": 224,
    "convmixer_768_32": 112,
    "resmlp_12_224": 224,
    "mixer_s16_224": 224,
    "gmlp_ti16_224": 224,
    "hrnet_w18_small": 224,
    "ghostnet_100": 224,
    "mixnet_s": 224,
    "tiny_vit_5m_224": 224,
    "repvgg_a0": 224,
    "edgenext_small": 256,
    "mobilevitv2_100": 256,
    "efficientformer_l1": 224,
    "convnextv2_atto": 224,
    "mobileone_s0": 224,
    "levit_128s": 224,
    "efficientvit_b0": 224,
    "efficientvit_m2": 224,
    "starnet_s1": 224,
    "shvit_s1": 224,
    "swiftformer_xs": 224,
    "pvt_v2_b0": 224,
    "xcit_nano_12_p16_224": 224,
    "coat_lite_tiny": 224,
    "cait_xxs24_224": 224,
    "pit_ti_224": 224,
    "visformer_tiny": 224,
    "mobilenetv4_conv_small": 224,
    "mobilenetv4_hybrid_medium": 256,
    "mobilenetv1_100": 224,
    "efficientnet_lite0": 224,
    "resnest14d": 224,
    "res2net50_26w_4s": 224,
    "skresnet18": 224,
    "seresnet18": 224,
    "dla34": 224,
    "vovnet39a": 224,
    "rexnet_100": 224,
    "lcnet_100": 224,
    "tinynet_a": 192,
    "hardcorenas_a": 224,
    "cspdarknet53": 256,
    "inception_next_atto": 224,
    "focalnet_tiny_srf": 224,
    "caformer_s18": 224,
    "mambaout_femto": 224,
    "hiera_tiny_224": 224,
    "nest_tiny": 224,
    "twins_svt_small": 224,
    "crossvit_tiny_240": 240,
    "botnet26t_256": 256,
    "resnetv2_50": 224,
    "volo_d1_224": 224,
    "davit_tiny": 224,
    "vit_small_patch16_224": 224,
}


def _torchvision(name: str, options: dict[str, Any]) -> None:
    def build() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
        size = 299 if name == "inception_v3" else 256 if name == "swin_v2_t" else 224
        return getattr(import_torchvision().models, name)(weights=None, **options), image(size)

    register(name, "torchvision", build)


def timm_network(name: str, size: int | None = None) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """Returns a network of timm and an example image.

    Args:
        name: the name in timm.
        size: the height and the width of the image. By default, those of the network's training.
    """
    import_torchvision()
    import timm

    network = timm.create_model(name, pretrained=False)
    return network, image(size or network.default_cfg["input_size"][-1])


for _name, _options in _TORCHVISION.items():
    _torchvision(_name, _options)
for _name, _size in _TIMM.items():
    register(_name, "timm", functools.partial(timm_network, _name, _size))


@entry("segmentation")
def lraspp_mobilenet_v3_large() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    models = import_torchvision().models.segmentation
    return First(models.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None)), image(320)


@entry("segmentation")
def deeplabv3_mobilenet_v3_large() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    models = import_torchvision().models.segmentation
    return First(models.deeplabv3_mobilenet_v3_large(weights=None, weights_backbone=None)), image(320)


class _Detector(nn.Module):
    """The backbone and the heads of a detector. It returns scores and boxes before decoding."""

    def __init__(self, backbone: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.backbone, self.head = backbone, head

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(self.head(list(self.backbone(x).values())).values())


@entry("detection")
def ssdlite320() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    import_torchvision()
    from torchvision.models.detection import ssdlite320_mobilenet_v3_large

    network = ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None)
    return _Detector(network.backbone, network.head), image(320)


@entry("detection")
def retinanet_resnet18() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    import_torchvision()
    from torchvision.models.detection.backbone_utils import resnet_fpn_backbone
    from torchvision.models.detection.retinanet import RetinaNetHead

    backbone = resnet_fpn_backbone(backbone_name="resnet18", weights=None, norm_layer=nn.BatchNorm2d)
    return _Detector(backbone, RetinaNetHead(256, 3, 20)), image(160)


@entry("video")
def r3d_18() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    network = import_torchvision().models.video.r3d_18(weights=None)
    return network, (seeded(1, 3, 8, 64, 64),)


@entry("video")
def r2plus1d_18() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    network = import_torchvision().models.video.r2plus1d_18(weights=None)
    return network, (seeded(1, 3, 8, 64, 64),)
