"""python -m benchmarks.quantization: accuracy on digits, embeddings of sentences, agreement of networks."""

from __future__ import annotations

import importlib.util
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

import rushlight
from rushlight.backends.cpu.quantizer import CPUQuantizer
from rushlight.quantize import (
    convert_pt2e,
    dynamic_int8,
    dynamic_int8_weight_int4,
    export_float,
    prepare_qat_pt2e,
    quantize,
    static_int8,
    weight_only_int4,
    weight_only_int8,
)
from rushlight.quantize.tables import text_table

EXAMPLES = Path(__file__).parents[1] / "examples"


def example(path: str) -> ModuleType:
    """A module of the examples' folder, such as "digits/model.py"."""
    name = "example_" + path.removesuffix(".py").replace("/", "_")
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, EXAMPLES / path)
        assert spec is not None and spec.loader is not None
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]


# ---- Digits ----


def train_quantized(net: torch.nn.Module, images: torch.Tensor, labels: torch.Tensor, epochs: int = 2) -> Any:
    """The net, trained further with fake quantization."""
    from torchao.quantization.pt2e import (
        allow_exported_model_train_eval,
        move_exported_model_to_eval,
    )

    batch = torch.export.Dim("batch", min=2, max=4096)
    program = torch.export.export(net.train(), (images[:4],), dynamic_shapes=({0: batch},))
    net.eval()
    prepared = prepare_qat_pt2e(program, CPUQuantizer().set_global(static_int8(qat=True)))
    allow_exported_model_train_eval(prepared)
    prepared.train()
    optimizer = torch.optim.Adam(prepared.parameters(), lr=1e-4)
    torch.manual_seed(0)
    for _ in range(epochs):
        for rows in torch.randperm(len(images)).split(64):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(prepared(images[rows]), labels[rows]).backward()
            optimizer.step()
    move_exported_model_to_eval(prepared)
    return torch.export.export(
        convert_pt2e(prepared), (images[:4],), dynamic_shapes=({0: batch},), strict=False
    )


def digits() -> dict[str, float]:
    """Share of held-out digits that each form of the network gets right, in the runtime."""
    model = example("digits/model.py")
    train_images, train_labels, images, labels = model.digits()
    net = model.train(train_images, train_labels)
    x, y = torch.from_numpy(train_images), torch.from_numpy(train_labels)
    batch = torch.export.Dim("batch", min=2, max=4096)
    shapes = ({0: batch},)
    program = export_float(net, (x[:4],), shapes)

    def after(config: Any) -> Any:
        data = [x[i : i + 64] for i in range(0, 512, 64)]
        return quantize(program, None, CPUQuantizer().set_global(config), data, dynamic_shapes=shapes)

    forms: dict[str, Callable[[], Any]] = {
        "float": lambda: program,
        "static int8": lambda: after(static_int8()),
        "int8, trained": lambda: train_quantized(net, x, y),
        "dynamic int8": lambda: after(dynamic_int8()),
        "4-bit weights": lambda: after(weight_only_int4()),
    }
    found = {}
    for name, make in forms.items():
        run = rushlight.load(rushlight.compile(make()).buffer)
        found[name] = float((run(images).argmax(1) == labels).mean())
    return found


# ---- Sentences ----

SENTENCE_CONFIGS: dict[str, Callable[[], CPUQuantizer]] = {
    "dynamic int8": lambda: CPUQuantizer().set_global(dynamic_int8()),
    "dynamic int8 per token": lambda: CPUQuantizer().set_global(dynamic_int8(per_token=True)),
    "8-bit weights": lambda: CPUQuantizer().set_global(weight_only_int8()),
    "4-bit weights": lambda: CPUQuantizer().set_global(weight_only_int4(group_size=16)),
    "dynamic int8, 4-bit weights": lambda: CPUQuantizer().set_global(dynamic_int8_weight_int4(group_size=16)),
}


def sentences(names: Sequence[str], count: int = 200) -> list[list[str]]:
    """Rows: form, mean and smallest cosine with the float embeddings, file size beside the float one."""
    encoder = example("sentences/encoder.py")
    model, data = encoder.load(), encoder.tokenize(encoder.sentences()[:count])
    program = export_float(model, data[0])
    with torch.no_grad():
        expected = model(torch.cat([ids for ids, _ in data]), torch.cat([mask for _, mask in data]))
    size = len(rushlight.compile(program).buffer)
    rows = []
    for name in names:
        compiled = rushlight.compile(quantize(program, None, SENTENCE_CONFIGS[name]()))
        run = rushlight.load(compiled.buffer)
        cosine = torch.cosine_similarity(torch.cat([run(*item) for item in data]), expected)
        ratio = len(compiled.buffer) / size
        rows.append([name, f"{cosine.mean():.4f}", f"{cosine.min():.4f}", f"{ratio:.3f}"])
    return rows


# ---- Networks ----


def inputs_of(shape: Sequence[int], count: int, seed: int = 3) -> list[torch.Tensor]:
    """Smooth random pictures: noise at four scales, each picture with its own mixture."""
    generator = torch.Generator().manual_seed(seed)
    pictures = []
    for _ in range(count):
        picture = torch.zeros(tuple(shape))
        for size in (4, 14, 56, shape[-1]):
            noise = torch.randn((*shape[:2], size, size), generator=generator)
            weight = torch.rand((), generator=generator) * 2
            picture += weight * torch.nn.functional.interpolate(noise, shape[-2:], mode="bilinear")
        pictures.append(picture)
    return pictures


def agreement(expected: Iterable[torch.Tensor], actual: Iterable[torch.Tensor]) -> float:
    """How often the largest entry is the same."""
    return statistics.mean(float(a.argmax() == b.argmax()) for a, b in zip(expected, actual, strict=True))


def network(name: str, count: int = 200, calibration: int = 16) -> list[list[str]]:
    """Rows: system, top-1 agreement with float, signal to noise, file size beside float, ms a picture."""
    from benchmarks.models import build
    from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
    from rushlight.backends.xnnpack.quantizer import XNNPACKQuantizer
    from rushlight.quantize.measures import Meter

    case = build(name)
    pictures = inputs_of(case.inputs[0].shape, count + calibration)
    data, held = pictures[:calibration], pictures[calibration:]
    program = export_float(case.module, case.inputs)
    plain = rushlight.compile(program).buffer
    reference = rushlight.load(plain)
    expected = [reference(x) for x in held]
    rows = []
    for label, quantizer, partitioner in (
        ("CPU kernels", CPUQuantizer(), []),
        ("XnnpackBackend", XNNPACKQuantizer(), [XnnpackPartitioner()]),
    ):
        quantized = quantize(program, case.inputs, quantizer.set_global(static_int8()), data)
        compiled = rushlight.compile(quantized, partitioner=partitioner)
        run = rushlight.load(compiled.buffer)
        start = time.perf_counter()
        actual = [run(x) for x in held]
        elapsed = (time.perf_counter() - start) / count
        meter = Meter()
        for a, b in zip(expected, actual, strict=True):
            meter.add(a, b)
        rows.append(
            [
                name,
                label,
                f"{agreement(expected, actual):.1%}",
                f"{meter.result().snr_db:.1f}",
                f"{len(compiled.buffer) / len(plain):.3f}",
                f"{elapsed * 1e3:.1f}",
            ]
        )
    return rows


def table(networks: Sequence[str] = ("mobilenet_v2", "resnet50")) -> str:
    """All of it, as text."""
    warnings.filterwarnings("ignore")
    right = digits()
    rows = [[name, f"{share:.2%}", f"{(share - right['float']) * 100:+.2f}"] for name, share in right.items()]
    parts = [text_table(["digits", "right", "points"], rows, right={1, 2})]
    parts.append(
        text_table(
            ["sentences", "mean cosine", "smallest", "size/float"],
            sentences(list(SENTENCE_CONFIGS)),
            right={1, 2, 3},
        )
    )
    head = ["network", "int8 static through", "top-1 equal", "SNR dB", "size/float", "ms"]
    parts.append(text_table(head, [row for name in networks for row in network(name)], right={2, 3, 4, 5}))
    return "\n\n".join(parts)


if __name__ == "__main__":
    print(table())
