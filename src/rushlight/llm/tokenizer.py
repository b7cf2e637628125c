"""Tokenizers: files of the usual formats, and objects of other packages."""

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
    """A file is no tokenizer: it is truncated, damaged, or has another format."""


class Tokenizer:
    """Turns text into tokens and back.

    Args:
        implementation: an object with `encode(text)` and `decode(tokens)`, such as those of the packages
            tokenizers, transformers, sentencepiece, tiktoken and pytorch_tokenizers.
        bos: the token for the beginning of a text; None takes that of the object, if it names one.
        eos: the tokens that end a text; empty takes that of the object, if it names one.

    Raises:
        InvalidTypeError: the object has no `encode` or no `decode`.
    """

    def __init__(self, implementation: Any, bos: int | None = None, eos: Iterable[int] = ()) -> None:
        for name in ("encode", "decode"):
            if not callable(getattr(implementation, name, None)):
                raise InvalidTypeError(
                    f"a tokenizer is the path of a file or an object with encode and decode, but "
                    f"{type(implementation).__name__} has no {name}"
                )
        self._implementation = implementation
        # A runner adds the tokens for the beginning and the end itself.
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
        """The number of tokens, or -1 if the object does not say it."""
        for name in ("vocab_size", "get_vocab_size", "n_vocab", "n_words"):
            value = _value(self._implementation, name)
            if isinstance(value, int):
                return value
        return -1

    def encode(self, text: str) -> list[int]:
        """Returns the tokens of a text, without those for its beginning and end.

        Args:
            text: the text, which may contain the names of special tokens.

        Raises:
            InvalidArgumentError: the tokenizer refuses the text.
        """
        try:
            tokens = self._implementation.encode(text, **self._encode_options)
        except Exception as error:
            raise InvalidArgumentError(f"the tokenizer cannot encode {text[:40]!r}: {error}") from error
        return [int(token) for token in getattr(tokens, "ids", tokens)]

    def decode(self, tokens: Sequence[int]) -> str:
        """Returns the text of tokens, without special tokens if the tokenizer knows which these are.

        Args:
            tokens: the numbers of the tokens.

        Raises:
            InvalidArgumentError: the tokenizer has no such token.
        """
        try:
            text = self._implementation.decode(list(tokens), **self._decode_options)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a panic of a Rust extension is no Exception
            shown = ", ".join(map(str, list(tokens)[-4:]))
            raise InvalidArgumentError(
                f"the tokenizer cannot decode the tokens {shown} ({error}): does it belong to the model?"
            ) from error
        return str(text)


def _known_options(function: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Returns the options that a function has."""
    try:
        known = inspect.signature(function).parameters
    except (TypeError, ValueError):  # a function of an extension without a signature
        return {}
    return {name: value for name, value in options.items() if name in known}


def _value(thing: Any, name: str) -> Any:
    try:
        value = getattr(thing, name, None)
        return value() if callable(value) else value
    except Exception:  # a property of an object that has no such token may raise any error
        return None


def _id(thing: Any, *names: str) -> int | None:
    """Returns the first of the attributes (or results of methods) that is a token."""
    for name in names:
        value = _value(thing, name)
        if isinstance(value, int) and value >= 0:
            return value
    return None


def load_tokenizer(path: str | os.PathLike[str]) -> Tokenizer:
    """Loads the file of a tokenizer.

    Args:
        path: a tokenizer.json of Hugging Face, a model of SentencePiece, a file of ranks of tiktoken, or a
            folder with tokenizer.json or tokenizer.model. The content says which it is. A
            tokenizer_config.json beside a tokenizer.json names the tokens for the beginning and the end.

    Raises:
        FileMissingError: there is no such file.
        InvalidTokenizerError: the file is damaged, or has another format.
        NotSupportedError: the package that reads the format is not installed; the message names it.
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
        raise FileMissingError(f"the file of the tokenizer does not exist: {str(path)!r}") from None
    if content.lstrip()[:1] == b"{":
        return _hugging_face(path, content)
    if _RANK.match(content):
        return _tiktoken(path, content)
    if content[:1] == b"\n":  # the first field of a SentencePiece model: a list of pieces
        return _sentencepiece(path, content)
    raise InvalidTokenizerError(
        f"{str(path)!r} is no tokenizer: neither a tokenizer.json of Hugging Face, nor a model of "
        "SentencePiece, nor a file of ranks of tiktoken"
    )


def _package(name: str, path: Path, what: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise NotSupportedError(
            f"{str(path)!r} is {what}, which the package {name} reads: pip install {name}, or "
            "pip install 'rushlight[llm]' for all formats"
        ) from None


def _damaged(path: Path, what: str, why: object) -> InvalidTokenizerError:
    return InvalidTokenizerError(f"{str(path)!r} is no valid {what}: {why}")


def _hugging_face(path: Path, content: bytes) -> Tokenizer:
    tokenizers = _package("tokenizers", path, "a tokenizer.json of Hugging Face")
    try:
        found = tokenizers.Tokenizer.from_str(content.decode())
        found.no_truncation()
        found.no_padding()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of a Rust extension is no Exception
        raise _damaged(path, "tokenizer.json of Hugging Face", error) from None
    config = path.with_name("tokenizer_config.json")
    names = _special_names(config) if config.is_file() else {}
    ids = {key: found.token_to_id(name) for key, name in names.items()}
    eos = ids.get("eos_token")
    return Tokenizer(found, ids.get("bos_token"), () if eos is None else (eos,))


def _special_names(path: Path) -> dict[str, str]:
    """Returns the names of the special tokens in a tokenizer_config.json, by their keys."""
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
    sentencepiece = _package("sentencepiece", path, "a model of SentencePiece")
    try:
        processor = sentencepiece.SentencePieceProcessor()
        processor.LoadFromSerializedProto(content)
    except Exception as error:
        raise _damaged(path, "model of SentencePiece", error) from None
    return Tokenizer(processor)


_RANK = re.compile(rb"[A-Za-z0-9+/]+={0,2} [0-9]+\r?(\n|$)")

# Llama 3's, whose ranks are the ones that are in use without a file that names the special tokens: words with
# one character before them, at most three digits, punctuation, line ends and spaces.
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
_LLAMA_3_SPECIAL = 256  # special tokens in all


def _tiktoken(path: Path, content: bytes) -> Tokenizer:
    tiktoken = _package("tiktoken", path, "a file of ranks of tiktoken")
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
    """Returns the rank of each token. All bytes are tokens, and the ranks are 0, 1, 2, ..., so that the
    package encodes every text."""
    ranks: dict[bytes, int] = {}
    what = "file of ranks of tiktoken"
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
