"""Trains a digits classifier, compiles it, runs the .pte file in the native runtime and shows the results."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import matplotlib
import numpy as np
import torch
from model import digits, train

import rushlight
from rushlight.cli.main import main as rushlight_command

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402  (matplotlib.use must come first)


def draw_predictions(
    path: Path, images: np.ndarray, labels: np.ndarray, logits: np.ndarray, count: int = 40
) -> None:
    """Draws images with the predicted digit, its probability and, if it differs, the true digit.

    Wrong predictions come first.
    """
    predicted = logits.argmax(1)
    shifted = np.exp(logits - logits.max(1, keepdims=True))
    probability = (shifted / shifted.sum(1, keepdims=True)).max(1)
    chosen = np.argsort(predicted == labels, kind="stable")[:count]
    figure, axes = pyplot.subplots(4, count // 4, figsize=(count // 4 * 1.25, 6.2))
    for axis, i in zip(axes.flat, chosen, strict=True):
        right = predicted[i] == labels[i]
        title = f"{predicted[i]}  {probability[i]:.0%}" + ("" if right else f"\nis {labels[i]}")
        axis.imshow(images[i, 0], cmap="gray_r", interpolation="nearest")
        axis.set_title(title, fontsize=10, color="black" if right else "crimson")
        axis.set_xticks([])
        axis.set_yticks([])
    wrong = int((predicted != labels).sum())
    figure.suptitle(f"{len(labels)} test images, {wrong} wrong predictions (red, first)")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("demo-out"), help="the output folder")
    out: Path = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)

    start = time.perf_counter()
    train_images, train_labels, images, labels = digits()
    net = train(train_images, train_labels)
    trained = time.perf_counter()
    compiled = rushlight.compile(net, (torch.zeros(1, 1, 8, 8),), generate_etrecord=True)
    compiled.save(out / "digits.pte")
    compiled.manager.get_etrecord().save(out / "digits.etrecord")
    done = time.perf_counter()

    np.save(out / "images.npy", images)
    command = [sys.executable, str(Path(__file__).with_name("run.py"))]
    files = [out / "digits.pte", out / "images.npy", out / "logits.npy"]
    ran = subprocess.run([*command, *map(str, files)], check=True, capture_output=True, text=True)
    native = json.loads(ran.stdout)
    logits = np.load(out / "logits.npy")
    with torch.no_grad():
        eager = net(torch.from_numpy(images)).numpy()
        eager_seconds = []
        for image in torch.from_numpy(images):
            begin = time.perf_counter()
            net(image[None])
            eager_seconds.append(time.perf_counter() - begin)
    draw_predictions(out / "predictions.png", images, labels, logits)

    def percent(scores: np.ndarray) -> str:
        return f"{(scores.argmax(1) == labels).mean():.2%}"

    print(f"trained in {trained - start:.1f} s, compiled in {done - trained:.1f} s")
    print(f"{'':24}{'eager PyTorch':>16}{'Rushlight':>16}")
    print(f"{'accuracy, test images':24}{percent(eager):>16}{percent(logits):>16}")
    eager_ms = float(np.median(eager_seconds)) * 1e3
    print(f"{'latency, 1 image':24}{eager_ms:>13.3f} ms{native['milliseconds']:>13.3f} ms")
    print(f"largest difference of the logits: {np.abs(eager - logits).max():.1e}")
    size = (out / "digits.pte").stat().st_size
    print(f"file: {size / 1024:.1f} KiB, planned memory: {native['planned_bytes'] / 1024:.1f} KiB")
    print(f"torch imported in the process of the runtime: {'yes' if native['torch_loaded'] else 'no'}")
    print(f"picture of the predictions: {out / 'predictions.png'}")
    profile = ["profile", str(out / "digits.pte"), "--by", "module"]
    print(f"\nrushlight {' '.join(profile)}", flush=True)
    rushlight_command(profile)


if __name__ == "__main__":
    main()
