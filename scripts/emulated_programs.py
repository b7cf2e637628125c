"""Small programs that use the microkernels: convolutions, attention, an LSTM, quantized networks."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

import rushlight
from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.cpu.quantizer import CpuQuantizer
from rushlight.quantize import dynamic_int8_weight_int4, quantize, static_int8, weight_only_int4
from rushlight.runtime import Runtime


class Network(nn.Module):
    """Strided, depthwise, pointwise and 3 x 3 convolutions, with sizes that are not multiples of a vector."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 20, 3, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(20)
        self.depthwise = nn.Conv2d(20, 20, 3, padding=1, groups=20)
        self.pointwise = nn.Conv2d(20, 37, 1)
        self.square = nn.Conv2d(37, 37, 3, padding=1)
        self.classes = nn.Linear(37, 11)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.norm(self.stem(x)))
        x = F.hardswish(self.depthwise(x))
        x = F.relu(self.pointwise(x))
        x = x + F.relu(self.square(x))
        return torch.softmax(self.classes(x.mean((2, 3))), -1)


class Block(nn.Module):
    """Attention and two products."""

    def __init__(self, width: int = 64, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.inputs, self.outputs = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 96), nn.Linear(96, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, tokens, width = x.shape
        parts = self.inputs(self.before(x)).view(n, tokens, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        x = x + self.outputs(
            F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(n, tokens, width)
        )
        y: torch.Tensor = self.narrow(F.gelu(self.wide(self.between(x))))
        return x + y


class Sequence(nn.Module):
    """An LSTM and a linear layer on its last output."""

    def __init__(self) -> None:
        super().__init__()
        self.steps, self.classes = nn.LSTM(24, 36, batch_first=True), nn.Linear(36, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.classes(self.steps(x)[0][:, -1])
        return y


def main(folder: Path, targets: list[str]) -> None:
    """Writes NAME-TARGET.pte, NAME.in and NAME.out (the results on this machine) into `folder`."""
    torch.manual_seed(0)
    models: dict[str, tuple[nn.Module, torch.Tensor]] = {
        "network": (Network().eval(), torch.randn(1, 3, 30, 26)),
        "block": (Block().eval(), torch.randn(1, 19, 64)),
        "sequence": (Sequence().eval(), torch.randn(1, 9, 24)),
        "row": (nn.Sequential(nn.Linear(64, 50), nn.ReLU(), nn.Linear(50, 12)).eval(), torch.randn(1, 64)),
    }
    kinds = {
        "network_int8": static_int8(),
        "block_int8": static_int8(),
        "block_int4": dynamic_int8_weight_int4(),
        "row_int4": weight_only_int4(),
    }
    programs: dict[str, tuple[nn.Module | torch.export.ExportedProgram, torch.Tensor]] = {**models}
    for name, how in kinds.items():
        model, x = models[name.partition("_")[0]]
        data = [(torch.randn_like(x),) for _ in range(4)]
        programs[name] = (quantize(model, (x,), CpuQuantizer().set_global(how), data), x)
    for name, (program, x) in programs.items():
        x.numpy().tofile(folder / f"{name}.in")
        for target in targets:
            path = folder / f"{name}-{target}.pte"
            rushlight.compile(program, (x,), partitioner=[CpuPartitioner(target)]).save(path)
            method = Runtime.get().load_program(path).load_method("forward")
            values = torch.as_tensor(method.execute([x])[0]).flatten().tolist()
            path.with_suffix(".out").write_text("\n".join(map(repr, values)) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
