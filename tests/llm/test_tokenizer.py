"""Tokenizer files in all formats, damaged files, and tokenizer objects of other packages."""

from __future__ import annotations

import base64
import io
import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.llm.programs import Words
from tests.llm.tokenizer_files import SENTENCES, hugging_face_model, write_tokenizers

from rushlight.llm import InvalidTokenizerError, Tokenizer, load_tokenizer
from rushlight.runtime.errors import (
    FileMissingError,
    InvalidArgumentError,
    InvalidTypeError,
    NotSupportedError,
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Returns a tokenizer file in each format."""
    return write_tokenizers(tmp_path_factory.mktemp("tokenizers"))


@pytest.mark.parametrize("kind", ["json", "model", "tiktoken"])
def test_files(files: dict[str, Path], kind: str) -> None:
    tokenizer = load_tokenizer(files[kind])
    for text in SENTENCES:
        tokens = tokenizer.encode(text)
        assert 1 < len(tokens) < len(text) and tokenizer.decode(tokens) == text
        assert max(tokens) < tokenizer.vocab_size


def test_tokens_for_the_beginning_and_the_end(files: dict[str, Path]) -> None:
    sentencepiece, tiktoken = load_tokenizer(files["model"]), load_tokenizer(files["tiktoken"])
    assert (sentencepiece.bos_id, sentencepiece.eos_ids) == (1, {2})
    assert tiktoken.bos_id == 260 and tiktoken.eos_ids == {261, 268, 269}
    assert tiktoken.encode("once<|eot_id|>") == [258, 269]
    assert load_tokenizer(files["json"]).bos_id is None


def test_a_config_beside_the_file_names_them(files: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(files["json"].read_bytes())
    config = tmp_path / "tokenizer_config.json"
    config.write_text(json.dumps({"bos_token": "<s>", "eos_token": {"content": "</s>"}}))
    tokenizer = load_tokenizer(tmp_path)
    assert (tokenizer.bos_id, tokenizer.eos_ids) == (0, {1})
    assert tokenizer.decode([0, *tokenizer.encode("once"), 1]) == "once"
    config.write_text("[")
    with pytest.raises(InvalidTokenizerError, match="tokenizer_config.json' is not a valid JSON"):
        load_tokenizer(tmp_path)


def test_folders(files: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(FileMissingError, match="neither tokenizer.json nor tokenizer.model"):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.model").write_bytes(files["model"].read_bytes())
    assert load_tokenizer(tmp_path).vocab_size == 60


@pytest.mark.parametrize("kind", ["json", "model", "tiktoken"])
def test_a_missing_package_is_named(
    files: dict[str, Path], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = {"json": "tokenizers", "model": "sentencepiece", "tiktoken": "tiktoken"}[kind]
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(NotSupportedError, match=rf"pip install {package}, or pip install 'rushlight\[llm\]'"):
        load_tokenizer(files[kind])


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileMissingError, match="does not exist: .*nothing.json"):
        load_tokenizer(tmp_path / "nothing.json")


RANKS = [base64.b64encode(bytes([value])) + b" %d" % value for value in range(256)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a tokenizer: it is neither"),
        (b"\x00\x01", "is not a tokenizer: it is neither"),
        (b"{", "not a valid Hugging Face tokenizer.json"),
        (b"{}", "not a valid Hugging Face tokenizer.json"),
        (
            b'{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [["a", "b"]]}}',
            "not a valid Hugging Face tokenizer.json",
        ),
        (b"\xff{", "is not a tokenizer"),
        (b"{\xff", "not a valid Hugging Face tokenizer.json"),
        (b"\n\x05", "not a valid SentencePiece model"),
        (b"\n\xff\xff\xff\xff\x0f", "not a valid SentencePiece model"),
        (b"YQ== 0\n", "no token for the byte 0x00"),
        (b"\n".join(RANKS[:200]), "no token for the byte 0xc8"),
        (b"\n".join([*RANKS, b"YQ== 256"]), "line 257 is not a new token with the rank 256"),
        (b"\n".join([*RANKS, b"YWE= 300"]), "line 257 is not a new token with the rank 256"),
        (b"\n".join([*RANKS, b"Y*E= 256"]), "line 257 is not a token in base64"),
        (b"\n".join([*RANKS, b"YWE="]), "line 257 is not a token in base64"),
    ],
)
def test_damaged_files(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "damaged"
    path.write_bytes(content)
    with pytest.raises(InvalidTokenizerError, match=message):
        load_tokenizer(path)


@pytest.mark.parametrize("kind", ["json", "model", "tiktoken"])
def test_changed_bytes_give_a_tokenizer_or_an_error(
    files: dict[str, Path], tmp_path: Path, kind: str
) -> None:
    content = files[kind].read_bytes()
    numbers = random.Random(0)
    path = tmp_path / "changed"
    refused = 0
    for _ in range(60):
        changed = bytearray(content)
        for _ in range(numbers.randint(1, 4)):
            changed[numbers.randrange(len(changed))] = numbers.randrange(256)
        path.write_bytes(changed[: numbers.randint(1, len(changed))] if numbers.random() < 0.5 else changed)
        try:
            tokenizer = load_tokenizer(path)
            tokenizer.decode(tokenizer.encode(SENTENCES[0]))
        except (InvalidTokenizerError, InvalidArgumentError):
            refused += 1
    assert refused > 20


class WithOptions(Words):
    """A tokenizer that adds special tokens by default, as in pytorch_tokenizers and transformers."""

    bos_token_id = 7
    vocab_size = 40

    def encode(self, text: str, bos: bool = True, add_special_tokens: bool = True) -> list[int]:
        return [7] * (bos + add_special_tokens) + super().encode(text)


def test_objects() -> None:
    plain, other = Tokenizer(Words()), Tokenizer(WithOptions())
    assert plain.encode("w1 w2") == other.encode("w1 w2") == [1, 2]
    assert plain.decode([1, 2]) == " w1 w2"
    assert (plain.bos_id, plain.eos_ids, plain.vocab_size) == (None, frozenset(), -1)
    assert (other.bos_id, other.vocab_size) == (7, 40)


def test_objects_of_packages(files: dict[str, Path]) -> None:
    from transformers import PreTrainedTokenizerFast

    model = hugging_face_model()
    wrapped = PreTrainedTokenizerFast(tokenizer_object=model, bos_token="<s>", eos_token="</s>")
    for tokenizer in (Tokenizer(model), Tokenizer(wrapped)):
        assert tokenizer.encode(SENTENCES[0]) == load_tokenizer(files["json"]).encode(SENTENCES[0])
        assert tokenizer.decode([0, *tokenizer.encode("once upon")]) == "once upon"
    assert (Tokenizer(wrapped).bos_id, Tokenizer(wrapped).eos_ids) == (0, {1})


@pytest.mark.parametrize("thing", [3, io.BytesIO(), None])
def test_other_objects(thing: Any) -> None:
    with pytest.raises(InvalidTypeError, match="has no encode"):
        Tokenizer(thing)


def test_what_a_tokenizer_refuses(files: dict[str, Path]) -> None:
    with pytest.raises(InvalidArgumentError, match="cannot encode 'hello'"):
        Tokenizer(Words()).encode("hello")
    with pytest.raises(InvalidArgumentError, match="cannot encode '3'"):
        load_tokenizer(files["json"]).encode(3)  # type: ignore[arg-type]
    for kind in ("model", "tiktoken"):
        with pytest.raises(InvalidArgumentError, match="cannot decode the tokens 100000"):
            load_tokenizer(files[kind]).decode([100000])
