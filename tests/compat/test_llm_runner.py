"""Code for ExecuTorch's runner of language models runs on Rushlight unchanged."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.fresh import run_python
from tests.llm.programs import greedy, llama, multimodal_program, text, text_program

TEXT = """
import rushlight.compat
rushlight.compat.install_as_executorch()

from executorch.extension.llm.runner import GenerationConfig, Stats, TextLLMRunner
from tests.llm.programs import Words

runner = TextLLMRunner("text.pte", Words())
config = GenerationConfig(temperature=0.0, max_new_tokens=5, echo=False)
pieces, stats = [], []
runner.generate("w5 w9", config, pieces.append, stats.append)
assert isinstance(stats[0], Stats) and stats[0].num_prompt_tokens == 2
assert runner.get_vocab_size() == 40
runner.reset()
runner.prefill("w5 w9", config)
runner.generate(prompt="", config=config)
print("".join(pieces))
"""

MULTIMODAL = """
import rushlight.compat
rushlight.compat.install_as_executorch()

import torch
from executorch.extension.llm.runner import *
from executorch.extension.llm.runner import generate_text_hf
from executorch.extension.llm.runner._llm_runner import Audio, RawAudio
from tests.llm.programs import Words

runner = MultimodalRunner("multimodal.pte", Words())
config = GenerationConfig(temperature=0, max_new_tokens=3, echo=False)
parts = [make_text_input("w5"), make_image_input(torch.ones(3, 8, 8)), make_token_input([9])]
whole = runner.generate_text(parts, config)
runner.reset()
ids = torch.tensor([[5, 39, 9]])
assert generate_text_hf(runner, {"input_ids": ids, "pixel_values": torch.ones(3, 8, 8)}, config, 39) == whole
assert isinstance(make_audio_input(torch.ones(1, 6, 5)).get_audio(), Audio)
assert isinstance(make_raw_audio_input(torch.ones(1, 6, 5)).get_raw_audio(), RawAudio)
assert MultimodalInput("text").is_text() and isinstance(Image([0, 0, 0], 1, 1, 3), Image)
"""


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    return run_python(code, cwd=folder, environment=environment)


def test_text(tmp_path: Path) -> None:
    (tmp_path / "text.pte").write_bytes(text_program("started"))
    result = run(TEXT, tmp_path)
    assert result.returncode == 0, result.stderr
    expected = text(greedy(llama(), [5, 9], 5))
    assert result.stdout == f"{expected}\n{expected}\n"


def test_multimodal(tmp_path: Path) -> None:
    (tmp_path / "multimodal.pte").write_bytes(multimodal_program())
    result = run(MULTIMODAL, tmp_path)
    assert result.returncode == 0, result.stderr
