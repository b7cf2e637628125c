"""Writes a page that recognizes a digit while the user draws it: the page, the program and the runtime.

make js
python examples/browser/build.py build/browser
python -m http.server --directory build/browser
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import torch

import rushlight
from rushlight.backends.cpu.partitioner import CpuPartitioner

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "digits"))
import model  # noqa: E402  examples/digits/model.py


def main() -> None:
    """Writes the files to the folder in the first argument, by default build/browser."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/browser")
    folder.mkdir(parents=True, exist_ok=True)
    images, labels, _, _ = model.digits()
    network = model.train(images, labels)
    program = rushlight.compile(
        network, (torch.zeros(1, 1, 8, 8),), partitioner=[CpuPartitioner(target="generic")]
    )
    program.save(folder / "digits.pte")
    package = HERE.parents[1] / "build/js"
    for file in (package / "rushlight.js", *package.glob("*.wasm")):
        shutil.copy(file, folder)
    shutil.copy(HERE / "index.html", folder)
    print(f"python -m http.server --directory {folder}")


if __name__ == "__main__":
    main()
