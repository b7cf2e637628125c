"""Tokenizers, from files in common formats or from objects of other packages."""

from __future__ import annotations

import base64
import binascii
import importlib
import inspect
import json
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from rushlight.runtime.errors import (
    FileMissingError,
    InvalidArgumentError,
    InvalidTypeError,
    NotSupportedError,
    RushlightError,
)


class InvalidTokenizerError(RushlightError, ValueError):
    """A file is not a valid tokenizer: it is truncated or damaged, or it has another format."""


class Tokenizer:
    """Converts text to tokens, and tokens to text.

    Args:
        implementation: an object with `encode(text)` and `decode(tokens)`. The packages tokenizers,
            transformers, sentencepiece, tiktoken and pytorch_tokenizers have such objects.
        bos: the beginning-of-text (BOS) token; None uses the token of the object, if it has one.
        eos: the end-of-text (EOS) tokens; if empty, the token of the object is used, if it has one.

    Raises:
        InvalidTypeError: the object has no `encode` or no `decode`.
    """

    def __init__(self, implementation: Any, bos: int | None = None, eos: Iterable[int] = ()) -> None:
        for name in ("encode", "decode"):
            if not callable(getattr(implementation, name, None)):
                raise InvalidTypeError(
                    f"a tokenizer must be the path of a file, or an object with encode and decode, but "
                    f"{type(implementation).__name__} has no {name}"
                )
        self._implementation = implementation
        # The runner adds the BOS and EOS tokens itself.
        self._encode_options = _known_options(
            implementation.encode,
            {"add_special_tokens": False, "bos": False, "eos": False, "allowed_special": "all"},
        )
        self._decode_options = _known_options(implementation.decode, {"skip_special_tokens": True})
        self.bos_id = _id(implementation, "bos_token_id", "bos_id") if bos is None else bos
        end = _id(implementation, "eos_token_id", "eos_id", "eot_token")
        self.eos_ids = frozenset(eos) or (frozenset() if end is None else frozenset([end]))

    @property
    def vocab_size(self) -> int:
        """The size of the vocabulary, or -1 if the object does not have this number."""
        for name in ("vocab_size", "get_vocab_size", "n_vocab", "n_words"):
            value = _value(self._implementation, name)
            if isinstance(value, int):
                return value
        return -1

    def encode(self, text: str) -> list[int]:
        """Returns the tokens of a text, without BOS and EOS tokens.

        Args:
            text: the text, which may contain the names of special tokens.

        Raises:
            InvalidArgumentError: the tokenizer cannot encode the text.
        """
        try:
            tokens = self._implementation.encode(text, **self._encode_options)
        except Exception as error:
            raise InvalidArgumentError(f"the tokenizer cannot encode {str(text)[:40]!r}: {error}") from error
        return [int(token) for token in getattr(tokens, "ids", tokens)]

    def decode(self, tokens: Sequence[int]) -> str:
        """Returns the text of tokens. Special tokens are skipped if the tokenizer supports this.

        Args:
            tokens: the token IDs.

        Raises:
            InvalidArgumentError: the tokenizer has no such token.
        """
        try:
            text = self._implementation.decode(list(tokens), **self._decode_options)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a panic of a Rust extension is not an Exception
            shown = ", ".join(map(str, list(tokens)[-4:]))
            raise InvalidArgumentError(
                f"the tokenizer cannot decode the tokens {shown} ({error}); it may belong to another model"
            ) from error
        return str(text)


def _known_options(function: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Returns the options that are parameters of a function."""
    try:
        known = inspect.signature(function).parameters
    except (TypeError, ValueError):  # an extension function without a signature
        return {}
    return {name: value for name, value in options.items() if name in known}


def _value(thing: Any, name: str) -> Any:
    try:
        value = getattr(thing, name, None)
        return value() if callable(value) else value
    except Exception:  # the property may raise any error if the object has no such token
        return None


def _id(thing: Any, *names: str) -> int | None:
    """Returns the value of the first attribute or method that is a token ID, or None."""
    for name in names:
        value = _value(thing, name)
        if isinstance(value, int) and value >= 0:
            return value
    return None


def load_tokenizer(path: str | os.PathLike[str]) -> Tokenizer:
    """Loads the file of a tokenizer.

    Args:
        path: a Hugging Face tokenizer.json, a SentencePiece model, a tiktoken rank file, or a folder with
            tokenizer.json or tokenizer.model. The format is detected from the content. If the folder of a
            tokenizer.json also has a tokenizer_config.json, the BOS and EOS tokens are read from it.

    Raises:
        FileMissingError: the file does not exist.
        InvalidTokenizerError: the file is damaged, or has another format.
        NotSupportedError: the package that reads the format is not installed. The message names the package.
    """
    path = Path(path)
    if path.is_dir():
        found = [path / name for name in ("tokenizer.json", "tokenizer.model") if (path / name).is_file()]
        if not found:
            raise FileMissingError(f"the folder {str(path)!r} has neither tokenizer.json nor tokenizer.model")
        path = found[0]
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise FileMissingError(f"the tokenizer file does not exist: {str(path)!r}") from None
    if content.lstrip()[:1] == b"{":
        return _hugging_face(path, content)
    if _RANK.match(content):
        return _tiktoken(path, content)
    if content[:1] == b"\n":  # the first field of a SentencePiece model: a list of pieces
        return _sentencepiece(path, content)
    raise InvalidTokenizerError(
        f"{str(path)!r} is not a tokenizer: it is neither a Hugging Face tokenizer.json, nor a SentencePiece "
        "model, nor a tiktoken rank file"
    )


def _package(name: str, path: Path, what: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise NotSupportedError(
            f"{str(path)!r} is {what}, which needs the package {name}: pip install {name}, or "
            "pip install 'rushlight[llm]' for all formats"
        ) from None


def _damaged(path: Path, what: str, why: object) -> InvalidTokenizerError:
    return InvalidTokenizerError(f"{str(path)!r} is not a valid {what}: {why}")


def _hugging_face(path: Path, content: bytes) -> Tokenizer:
    tokenizers = _package("tokenizers", path, "a Hugging Face tokenizer.json")
    try:
        found = tokenizers.Tokenizer.from_str(content.decode())
        found.no_truncation()
        found.no_padding()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of a Rust extension is not an Exception
        raise _damaged(path, "Hugging Face tokenizer.json", error) from None
    config = path.with_name("tokenizer_config.json")
    names = _special_names(config) if config.is_file() else {}
    ids = {key: found.token_to_id(name) for key, name in names.items()}
    eos = ids.get("eos_token")
    return Tokenizer(found, ids.get("bos_token"), () if eos is None else (eos,))


def _special_names(path: Path) -> dict[str, str]:
    """Returns the names of the BOS and EOS tokens in a tokenizer_config.json, by their keys."""
    try:
        facts = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise _damaged(path, "JSON", error) from None
    names: dict[str, str] = {}
    for key in ("bos_token", "eos_token"):
        token = facts.get(key) if isinstance(facts, dict) else None
        name = token.get("content") if isinstance(token, dict) else token
        if isinstance(name, str):
            names[key] = name
    return names


def _sentencepiece(path: Path, content: bytes) -> Tokenizer:
    sentencepiece = _package("sentencepiece", path, "a SentencePiece model")
    try:
        processor = sentencepiece.SentencePieceProcessor()
        processor.LoadFromSerializedProto(content)
    except Exception as error:
        raise _damaged(path, "SentencePiece model", error) from None
    return Tokenizer(processor)


_RANK = re.compile(rb"[A-Za-z0-9+/]+={0,2} [0-9]+\r?(\n|$)")

# The pre-tokenization pattern of Llama 3. A tiktoken rank file has no pattern and no special tokens, and the
# rank files in common use are those of Llama 3. The alternatives are: contractions, words with at most one
# character before them, one to three digits, punctuation, line breaks, spaces.
_LLAMA_3_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_LLAMA_3_NAMED = (
    "begin_of_text",
    "end_of_text",
    "reserved_special_token_0",
    "reserved_special_token_1",
    "finetune_right_pad_id",
    "step_id",
    "start_header_id",
    "end_header_id",
    "eom_id",
    "eot_id",
    "python_tag",
)
_LLAMA_3_SPECIAL = 256  # the total number of special tokens


def _tiktoken(path: Path, content: bytes) -> Tokenizer:
    tiktoken = _package("tiktoken", path, "a tiktoken rank file")
    ranks = _ranks(path, content)
    names = [f"<|{name}|>" for name in _LLAMA_3_NAMED]
    names += [f"<|reserved_special_token_{i}|>" for i in range(2, _LLAMA_3_SPECIAL - len(names) + 2)]
    special = {name: len(ranks) + i for i, name in enumerate(names)}
    encoding = tiktoken.Encoding(
        path.name, pat_str=_LLAMA_3_WORDS, mergeable_ranks=ranks, special_tokens=special
    )
    ends = ("end_of_text", "eom_id", "eot_id")
    return Tokenizer(encoding, special["<|begin_of_text|>"], [special[f"<|{name}|>"] for name in ends])


def _ranks(path: Path, content: bytes) -> dict[bytes, int]:
    """Returns the rank of each token.

    Checks that each byte is a token, and that the ranks are 0, 1, 2 and so on. Then the package can encode
    every text.
    """
    ranks: dict[bytes, int] = {}
    what = "tiktoken rank file"
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        parts = line.split()
        try:
            token, rank = base64.b64decode(parts[0], validate=True), int(parts[1])
        except (IndexError, ValueError, binascii.Error):
            raise _damaged(path, what, f"line {number} is not a token in base64 and its rank") from None
        if len(parts) != 2 or rank != len(ranks) or token in ranks or not token:
            raise _damaged(path, what, f"line {number} is not a new token with the rank {len(ranks)}")
        ranks[token] = rank
    missing = [value for value in range(256) if bytes([value]) not in ranks]
    if missing:
        raise _damaged(path, what, f"it has no token for the byte {missing[0]:#04x}")
    return ranks
