"""Runs language models: generates text from text, images and audio. Does not import torch."""

from __future__ import annotations

from rushlight.llm.config import GenerationConfig
from rushlight.llm.inputs import (
    Audio,
    Image,
    MultimodalInput,
    RawAudio,
    make_audio_input,
    make_image_input,
    make_raw_audio_input,
    make_text_input,
    make_token_input,
)
from rushlight.llm.metadata import Metadata
from rushlight.llm.multimodal_runner import MultimodalRunner
from rushlight.llm.stats import Stats
from rushlight.llm.text_runner import TextLLMRunner
from rushlight.llm.tokenizer import InvalidTokenizerError, Tokenizer, load_tokenizer

__all__ = [
    "Audio",
    "GenerationConfig",
    "Image",
    "InvalidTokenizerError",
    "Metadata",
    "MultimodalInput",
    "MultimodalRunner",
    "RawAudio",
    "Stats",
    "TextLLMRunner",
    "Tokenizer",
    "load_tokenizer",
    "make_audio_input",
    "make_image_input",
    "make_raw_audio_input",
    "make_text_input",
    "make_token_input",
]
