"""Networks of torchvision with small inputs: classification, segmentation, detection, video, optical flow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.export import Dim

from models.common import import_torchvision
from models.zoo.cases import ZOO, Lambda, Model, model, zoo

GROUP = "torchvision"

_CLASSIFIERS = (
    "alexnet vgg11_bn squeezenet1_0 densenet121 googlenet inception_v3 shufflenet_v2_x0_5 mnasnet0_5 "
    "resnet18 resnext50_32x4d wide_resnet50_2 regnet_y_400mf regnet_x_400mf efficientnet_b0 "
    "efficientnet_v2_s convnext_tiny mobilenet_v2 mobilenet_v3_large vit_b_32 swin_t swin_v2_t maxvit_t"
).split()
_SIZES = {"inception_v3": 96, "maxvit_t": 224, "vit_b_32": 224, "alexnet": 64, "googlenet": 64}
_OPTIONS: dict[str, dict[str, Any]] = {
    "googlenet": {"aux_logits": False, "init_weights": False},
    "inception_v3": {"aux_logits": False, "init_weights": False},
}


def _classifier(name: str) -> None:
    def build() -> Model:
        network = getattr(import_torchvision().models, name)(weights=None, **_OPTIONS.get(name, {}))
        size = _SIZES.get(name, 64)
        return model(network, torch.randn(1, 3, size, size))

    ZOO[f"{GROUP}/{name}"] = build


for _name in _CLASSIFIERS:
    _classifier(_name)


def _dictionary(network: nn.Module) -> nn.Module:
    return Lambda(lambda m, x: tuple(m(x).values()), network)


def _segmentation(name: str, **options: Any) -> None:
    def build() -> Model:
        models = import_torchvision().models.segmentation
        network = getattr(models, name)(weights=None, weights_backbone=None, num_classes=5, **options)
        return model(_dictionary(network), torch.randn(1, 3, 64, 64))

    ZOO[f"{GROUP}/{name}"] = build


_segmentation("fcn_resnet50")
_segmentation("deeplabv3_mobilenet_v3_large")
_segmentation("lraspp_mobilenet_v3_large")
_segmentation("deeplabv3_resnet50", aux_loss=True)


def _video(name: str, frames: int, size: int) -> None:
    def build() -> Model:
        network = getattr(import_torchvision().models.video, name)(weights=None, num_classes=5)
        return model(network, torch.randn(1, 3, frames, size, size))

    ZOO[f"{GROUP}/{name}"] = build


_video("r3d_18", 4, 32)
_video("mc3_18", 4, 32)
_video("r2plus1d_18", 4, 32)
_video("s3d", 16, 224)
_video("swin3d_t", 4, 64)
_video("mvit_v2_s", 16, 224)


@zoo(GROUP)
def raft_small() -> Model:
    network = import_torchvision().models.optical_flow.raft_small(weights=None)
    run: Callable[..., Any] = lambda m, a, b: m(a, b, num_flow_updates=2)[-1]  # noqa: E731
    return model(Lambda(run, network), torch.rand(1, 3, 128, 128), torch.rand(1, 3, 128, 128), tolerance=5e-3)


@zoo(GROUP)
def feature_pyramid() -> Model:
    """A backbone with a feature pyramid, as in detectors."""
    import_torchvision()
    from torchvision.models.detection.backbone_utils import resnet_fpn_backbone

    network = resnet_fpn_backbone(backbone_name="resnet18", weights=None)
    return model(_dictionary(network), torch.randn(1, 3, 64, 64))


@zoo(GROUP)
def retinanet_heads() -> Model:
    import_torchvision()
    from torchvision.models.detection.backbone_utils import resnet_fpn_backbone
    from torchvision.models.detection.retinanet import RetinaNetHead

    backbone, head = resnet_fpn_backbone(backbone_name="resnet18", weights=None), RetinaNetHead(256, 3, 4)

    def run(backbone: nn.Module, head: nn.Module, x: torch.Tensor) -> Any:
        return tuple(head(list(backbone(x).values())).values())

    return model(Lambda(run, backbone, head), torch.randn(1, 3, 64, 64))


@zoo(GROUP)
def ssdlite_heads() -> Model:
    import_torchvision()
    from torchvision.models.detection import ssdlite320_mobilenet_v3_large

    network = ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=4)
    run: Callable[..., Any] = lambda m, x: tuple(m.head(list(m.backbone(x).values())).values())  # noqa: E731
    return model(Lambda(run, network), torch.randn(1, 3, 96, 96))


@zoo(GROUP)
def fcos_heads() -> Model:
    import_torchvision()
    from torchvision.models.detection.fcos import FCOSHead

    head = FCOSHead(32, 1, 3, 2)
    run: Callable[..., Any] = lambda m, a, b: tuple(m([a, b]).values())  # noqa: E731
    return model(Lambda(run, head), torch.randn(1, 32, 8, 8), torch.randn(1, 32, 4, 4))


@zoo(GROUP)
def mobilenet_v3_dynamic_batch() -> Model:
    network = import_torchvision().models.mobilenet_v3_small(weights=None)
    return model(
        network,
        torch.randn(2, 3, 32, 32),
        dynamic=({0: Dim("b", min=1, max=4)},),
        others=[torch.randn(1, 3, 32, 32), torch.randn(4, 3, 32, 32)],
    )


@zoo(GROUP)
def mobilenet_v2_dynamic_image() -> Model:
    network = import_torchvision().models.mobilenet_v2(weights=None)
    h, w = Dim("h", min=1, max=4), Dim("w", min=1, max=4)
    return model(
        network,
        torch.randn(1, 3, 64, 96),
        dynamic=({2: 32 * h, 3: 32 * w},),
        others=[torch.randn(1, 3, 32, 32), torch.randn(1, 3, 128, 64)],
    )


@zoo(GROUP)
def stochastic_depth_resize() -> Model:
    """Preprocessing as a part of the model: resize, crop, normalize."""
    import_torchvision()
    from torchvision.transforms.v2 import functional as T

    def run(x: torch.Tensor) -> torch.Tensor:
        x = T.resize(x.float() / 255, [40, 40], antialias=True)
        return T.normalize(T.center_crop(x, [32, 32]), [0.5] * 3, [0.25] * 3)

    return model(run, torch.randint(0, 256, (1, 3, 64, 48), dtype=torch.uint8))
