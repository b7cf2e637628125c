"""Language models of both systems generate the same text in the runners of both."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.interop.cases import Ask
from tests.interop.language_cases import KINDS, PROMPT, exported, write_tokenizer

from rushlight.backends.xnnpack import XnnpackPartitioner
from rushlight.exir import to_edge_transform_and_lower
from rushlight.llm import GenerationConfig, TextLLMRunner

TOKENS = 16


@pytest.mark.parametrize(
    ("kind", "backend"), [*((kind, "kernels") for kind in KINDS), ("dynamic", "xnnpack")]
)
@pytest.mark.parametrize("author", ["ours", "theirs"])
def test_greedy_text_is_the_same(author: str, kind: str, backend: str, peer: Ask, tmp_path: Path) -> None:
    tokenizer = write_tokenizer(tmp_path)
    path, text = tmp_path / "model.pte", tmp_path / "text.txt"
    if author == "ours":
        program, constants = exported(kind)
        partitioners = [XnnpackPartitioner()] if backend == "xnnpack" else None
        edge = to_edge_transform_and_lower(program, partitioner=partitioners, constant_methods=constants)
        edge.to_executorch().save(str(path))
    else:
        peer({"language model": kind, "folder": str(tmp_path), "backend": backend})
    peer({"generate": str(path), "tokenizer": str(tokenizer), "prompt": PROMPT, "text": str(text)})
    runner = TextLLMRunner(path, tokenizer)
    config = GenerationConfig(temperature=0, max_new_tokens=TOKENS, echo=False)
    found = runner.generate_text(PROMPT, config)
    assert found == text.read_text()
    assert len(found) >= TOKENS
    runner.reset()
    assert runner.generate_text(PROMPT, config) == found
