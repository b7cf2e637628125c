"""The measured networks.

Their weights are random but deterministic, with batch norm statistics from data. For int8 measurements,
weights are trained on digits.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from models.common import image, import_torchvision
from models.digits import COPIES, FIT, digits
from models.field import FIELD, images
from models.trained import RECIPES, load_trained

MODELS: dict[str, Callable[[], tuple[nn.Module, tuple[torch.Tensor, ...]]]] = {}


def model(build: Callable[[], tuple[nn.Module, tuple[torch.Tensor, ...]]]) -> Callable[..., object]:
    MODELS[build.__name__] = build
    return build


def _torchvision(name: str) -> None:
    def build() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
        return getattr(import_torchvision().models, name)(weights=None), image()

    build.__name__ = name
    model(build)


for _name in (
    "mobilenet_v2",
    "mobilenet_v3_small",
    "resnet18",
    "resnet50",
    "vit_b_16",
    "efficientnet_b0",
    "convnext_tiny",
    "swin_t",
    "shufflenet_v2_x1_0",
    "densenet121",
):
    _torchvision(_name)


@model
def deit_tiny() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    import_torchvision()
    from timm.models.vision_transformer import VisionTransformer

    return VisionTransformer(embed_dim=192, depth=12, num_heads=3), image()


class _Bert(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        import_torchvision()
        from transformers import BertConfig, BertModel

        config = BertConfig(
            vocab_size=1000,
            hidden_size=384,
            num_hidden_layers=6,
            num_attention_heads=12,
            intermediate_size=1536,
        )
        self.bert = BertModel(config, add_pooling_layer=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.bert(input_ids=ids).last_hidden_state


@model
def bert() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """A BERT encoder: six layers of width 384, 128 tokens."""
    return _Bert(), (torch.randint(0, 1000, (1, 128), generator=torch.Generator().manual_seed(1)),)


class _Gpt2(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        import_torchvision()
        from transformers import GPT2Config, GPT2LMHeadModel

        self.gpt2 = GPT2LMHeadModel(
            GPT2Config(vocab_size=1000, n_embd=384, n_layer=6, n_head=6, n_positions=128)
        )

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.gpt2(input_ids=ids, use_cache=False).logits


@model
def gpt2() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """A GPT-2 decoder: six layers of width 384, 64 tokens, no cache."""
    return _Gpt2(), (torch.randint(0, 1000, (1, 64), generator=torch.Generator().manual_seed(1)),)


def _seeded(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1))


@model
def lstm() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """An LSTM: two layers of width 256, 64 steps."""
    from models.networks import Lstm

    return Lstm(), (_seeded(1, 64, 256),)


@model
def gpt2_step() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """A GPT-2 decoder: six layers of width 512, one token, and 127 earlier keys and values as inputs."""
    from models.networks import Decoder

    past = (6, 1, 8, 127, 64)
    return Decoder(), (torch.tensor([[17]]), torch.tensor([[127]]), _seeded(*past), _seeded(*past))


@model
def unet() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    from models.networks import UNet

    return UNet(), image(256)


@model
def audio_conv() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """One second at 16 kHz."""
    from models.networks import AudioConv

    return AudioConv(), (_seeded(1, 1, 16000),)


def _wide(name: str, *options: int) -> nn.Module:
    from models import wide

    return getattr(wide, name)(*options)


def _tokens(count: int, below: int) -> torch.Tensor:
    return torch.randint(0, below, (1, count), generator=torch.Generator().manual_seed(1))


@model
def wave_encoder() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """One second at 16 kHz."""
    return _wide("WaveEncoder"), (_seeded(1, 16000),)


@model
def demucs() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """A third of a second, stereo, at 44.1 kHz."""
    return _wide("Demucs"), (_seeded(1, 2, 16384),)


@model
def conformer() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """Four seconds: 400 frames of 80 bands."""
    return _wide("Conformer"), (_seeded(1, 1, 400, 80),)


@model
def llama_prefill() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """The first 64 tokens."""
    return _wide("Llama"), (_tokens(64, 4000), torch.arange(64))


@model
def llama_step() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """One token, the 128th, with buffers for 256."""
    return _wide("Llama"), (_tokens(1, 4000), torch.tensor([127]))


@model
def gru_text() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    return _wide("GruText"), (_tokens(64, 2000),)


@model
def mixer() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    return _wide("Mixer"), image()


@model
def upscaler() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    return _wide("Upscaler"), image(128)


WIDE = (
    "efficientnet_b0",
    "convnext_tiny",
    "swin_t",
    "shufflenet_v2_x1_0",
    "densenet121",
    "unet",
    "upscaler",
    "audio_conv",
    "wave_encoder",
    "demucs",
    "conformer",
    "llama_prefill",
    "llama_step",
    "gru_text",
    "mixer",
)
"""Networks with shapes that the default networks do not have."""


# The networks for int8 measurements: static (by calibration) or dynamic (at run time) quantization of
# activations.
INT8 = {"mobilenet_v2": "static", "resnet50": "static", "bert": "dynamic"}

INT8_FIELD = {
    **INT8,
    "mobilenet_v3_small": "static",
    "mobilenet_v3_large": "static",
    "efficientnet_b0": "static",
    "efficientnet_lite0": "static",
    "regnet_y_400mf": "static",
    "resnet18": "static",
    "resnext50_32x4d": "static",
    "squeezenet1_1": "static",
    "shufflenet_v2_x1_0": "static",
    "densenet121": "static",
    "mobilenetv4_conv_small": "static",
    "vit_small_patch16_224": "static",
    "deit_tiny": "dynamic",
    "distilbert": "dynamic",
    "whisper_tiny_encoder": "dynamic",
}
"""The networks for `python -m benchmarks.wide --int8`, with the same two kinds of quantization."""


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    module: nn.Module
    inputs: tuple[torch.Tensor, ...]
    is_trained: bool = False
    dynamic_shapes: Any = None
    """Dynamic shapes in the form of torch.export, or None for static shapes."""

    def pictures(self, count: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns pictures of digits with the size of `inputs`, and their labels."""
        return digits(self.inputs[0].shape[-1], count, seed, COPIES if self.is_trained else 1)

    def samples(self, count: int, seed: int) -> list[tuple[torch.Tensor, ...]]:
        """Returns other inputs with the shapes of `inputs`: digits, normal values or integers."""
        generator = torch.Generator().manual_seed(seed)
        if _is_image(self.inputs):
            return [(picture[None],) for picture in self.pictures(count, seed)[0]]

        def like(x: torch.Tensor) -> torch.Tensor:
            if x.is_floating_point():
                return torch.randn(x.shape, generator=generator)
            return torch.randint(0, int(x.max()) + 1, x.shape, generator=generator)

        return [tuple(like(x) for x in self.inputs) for _ in range(count)]


def _is_image(inputs: tuple[torch.Tensor, ...]) -> bool:
    return len(inputs) == 1 and inputs[0].dim() == 4 and inputs[0].shape[1] == 3


def _calibrate(module: nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
    """Computes batch norm statistics from data: with unit statistics, values vanish in deep layers."""
    norms = [m for m in module.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
    if not norms:
        return
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None
    generator = torch.Generator().manual_seed(FIT)
    data = torch.randn((2, *inputs[0].shape[1:]), generator=generator)
    if _is_image(inputs):
        data = digits(inputs[0].shape[-1], 16, FIT)[0]
    with torch.no_grad():
        module.train()(data)
        module.eval()


def _fill_constants(module: nn.Module) -> None:
    """Sets random values for parameters that are initialized with constants.

    Otherwise a compiler could remove a branch whose batch norm or layer scale is zero, or a factor of one. A
    classifier with zero weights would hide errors.
    """
    for name, parameter in module.named_parameters():
        first = parameter.flatten()[0]
        if not parameter.is_floating_point() or parameter.numel() < 2 or not (parameter == first).all():
            continue
        with torch.no_grad():
            if parameter.dim() > 1 and parameter.numel() > max(parameter.shape):
                nn.init.normal_(parameter, std=0.02)
            elif abs(first) >= 0.1:  # a factor, such as the weight of a norm
                parameter.mul_(1 + 0.1 * torch.randn(parameter.shape))
            elif name.rpartition(".")[2].endswith("bias"):
                parameter.add_(0.02 * torch.randn(parameter.shape))
            else:  # a factor that is initialized near zero
                nn.init.uniform_(parameter, 0.1, 0.3)


def is_dynamic_in_int8(name: str) -> bool:
    """Returns whether the int8 measurements of a network quantize activations at run time."""
    return INT8_FIELD.get(name.partition("@")[0]) == "dynamic"


def find(name: str) -> Callable[[], tuple[nn.Module, tuple[torch.Tensor, ...]]] | None:
    """Finds the function that builds a network and its example inputs.

    Args:
        name: a name in `MODELS` or `FIELD`, or "timm:NAME" for any image network of timm.
    """
    if name in MODELS:
        return MODELS[name]
    if name in FIELD:
        return FIELD[name].build
    kind, _, timm_name = name.partition(":")
    return functools.partial(images.timm_network, timm_name) if kind == "timm" and timm_name else None


def build(name: str, trained: bool = False) -> Case:
    """Builds a network in eval mode with its example inputs. The values are the same in every process.

    Args:
        name: the name of a network (see `find`), or a name with a batch: "resnet18@4" has four images.
        trained: use weights trained on digits instead of random weights, if the network has such weights.
    """
    network, _, batch = name.partition("@")
    builder = find(network)
    if builder is None:
        choices = ", ".join([*MODELS, *FIELD])
        raise SystemExit(f"unknown model {network}; choose from {choices}, or timm:NAME")
    torch.manual_seed(0)
    module, inputs = builder()
    if batch and any(x.shape[:1] != (1,) for x in inputs):
        raise SystemExit(f"the batch of {network} cannot be changed: the first size of an input is not 1")
    if trained and name in RECIPES:
        inputs = digits(inputs[0].shape[-1], 1, 1, COPIES)[:1]
        return Case(name, load_trained(name, module), inputs, is_trained=True)
    _fill_constants(module)
    _calibrate(module, inputs)
    if batch:
        inputs = tuple(torch.cat([x.roll(i, -1) for i in range(int(batch))]) for x in inputs)
    return Case(name, module.eval(), inputs)
