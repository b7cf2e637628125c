"""Small tokenizers in all formats."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

SENTENCES = [
    "once upon a time there was a small model",
    "the model runs on a small device, once a day",
    "a day on the device is a long time",
]


def hugging_face_model() -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    return tokenizer


def write_tokenizers(folder: Path) -> dict[str, Path]:
    """Writes a tokenizer in each format: json, model (SentencePiece) and tiktoken."""
    import sentencepiece

    found = {name: folder / f"tokenizer.{name}" for name in ("json", "model", "tiktoken")}
    hugging_face_model().save(str(found["json"]))
    with found["model"].open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(SENTENCES * 20),
            model_writer=file,
            vocab_size=60,
            model_type="bpe",
            minloglevel=2,
        )
    tokens = [bytes([value]) for value in range(256)] + [b"on", b"ce", b"once", b" a"]
    found["tiktoken"].write_bytes(
        b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(tokens))
    )
    return found
