"""Generation of text from text, images and audio: `MultimodalRunner`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rushlight.llm.config import GenerationConfig
from rushlight.llm.conversation import Part
from rushlight.llm.inputs import Audio, Image, MultimodalInput, make_image_input, make_token_input
from rushlight.llm.metadata import Metadata
from rushlight.llm.models import Model, MultimodalModel
from rushlight.llm.runner import Runner, StatsCallback, TokenCallback
from rushlight.runtime import Program
from rushlight.runtime.errors import InvalidArgumentError, InvalidTypeError


class MultimodalRunner(Runner):
    """Generates text from prompts with text, images and audio.

    The program must have the methods `token_embedding` and `text_decoder`. Prompts with images need the
    method `vision_encoder`, and prompts with audio need `audio_encoder`. A call continues the text of
    earlier calls, until `reset` is called.

    See `Runner` for the arguments.
    """

    _model: MultimodalModel

    def _load_model(self, program: Program, metadata: Metadata) -> Model:
        return MultimodalModel(program, metadata)

    def generate(
        self,
        inputs: Sequence[MultimodalInput],
        config: GenerationConfig | None = None,
        token_callback: TokenCallback | None = None,
        stats_callback: StatsCallback | None = None,
    ) -> None:
        """Reads the parts of a prompt in order, and generates text.

        Args:
            inputs: the parts of the prompt. If `config.echo` is True and the last part is a text, the
                callback receives this text first.
            config: the options; None means the defaults of `GenerationConfig`.
            token_callback: receives each piece of text. Without it, the text is printed.
            stats_callback: receives the times and counts at the end.

        Raises:
            InvalidArgumentError: the prompt is empty or too long, a part has a wrong shape, or an option is
                invalid.
            InvalidTypeError: a part has a wrong dtype, or is not a MultimodalInput.
            NotFoundError: the program has no encoder for a part.
            InvalidStateError: another call uses the runner.
            RushlightError: the execution of the model failed.
        """
        config = config or GenerationConfig()
        _check_parts(inputs)
        echo = inputs[-1].get_text() if inputs else None
        self._generate(
            lambda: self._parts(inputs, config), echo or "", config, token_callback, stats_callback
        )

    def generate_text(self, inputs: Sequence[MultimodalInput], config: GenerationConfig | None = None) -> str:
        """Returns the text that `generate` would pass to its callback.

        Args:
            inputs: the parts of the prompt.
            config: the options; None means the defaults of `GenerationConfig`.

        Raises:
            RushlightError: see `generate`.
        """
        pieces: list[str] = []
        self.generate(inputs, config, pieces.append)
        return "".join(pieces)

    def prefill(self, inputs: Sequence[MultimodalInput]) -> None:
        """Reads the parts of a prompt, such as the history of a chat, without generating text.

        Args:
            inputs: the parts of the prompt.

        Raises:
            RushlightError: see `generate`.
            CancelledError: another thread called `stop`.
        """
        _check_parts(inputs)
        self._prefill(lambda: self._parts(inputs, GenerationConfig()))

    def generate_hf(
        self,
        inputs: Mapping[str, Any] | Sequence[MultimodalInput],
        config: GenerationConfig | None = None,
        image_token_id: int | None = None,
        token_callback: TokenCallback | None = None,
        stats_callback: StatsCallback | None = None,
    ) -> None:
        """Like `generate`, with the output of a processor of the package transformers as prompt.

        Args:
            inputs: a mapping with `input_ids` [count] or [1, count] and, for images, `pixel_values`
                [images, channels, height, width]; or the parts of the prompt.
            config: the options; None means the defaults of `GenerationConfig`.
            image_token_id: the placeholder token of images. Each sequence of consecutive placeholders is one
                image.
            token_callback: receives each piece of text. Without it, the text is printed.
            stats_callback: receives the times and counts at the end.

        Raises:
            RushlightError: see `generate`. Also, the number of images and the number of placeholder sequences
                differ.
        """
        self.generate(_from_processor(inputs, image_token_id), config, token_callback, stats_callback)

    def generate_text_hf(
        self,
        inputs: Mapping[str, Any] | Sequence[MultimodalInput],
        config: GenerationConfig | None = None,
        image_token_id: int | None = None,
    ) -> str:
        """Returns the text that `generate_hf` would pass to its callback.

        Args:
            inputs: the output of a processor, or the parts of the prompt.
            config: the options; None means the defaults of `GenerationConfig`.
            image_token_id: the placeholder token of images.

        Raises:
            RushlightError: see `generate_hf`.
        """
        return self.generate_text(_from_processor(inputs, image_token_id), config)

    def _parts(self, inputs: Sequence[MultimodalInput], config: GenerationConfig) -> list[Part]:
        parts = [self._part(given) for given in inputs]
        begin, end = self._framed([], config.num_bos, 0), self._framed([], 0, config.num_eos)
        return [Part(begin), *parts, Part(end)]

    def _part(self, given: MultimodalInput) -> Part:
        match given.content:
            case str(text):
                return Part(self.tokenizer.encode(text) if text else [])
            case list(tokens):
                return Part(tokens)
            case Image():
                return Part((), self._model.encode(given.content, "vision_encoder", "an image"))
            case Audio():
                return Part((), self._model.encode(given.content, "audio_encoder", "audio"))
        return Part((), self._model.encode(given.content, "audio_encoder", "raw audio"))


def _check_parts(inputs: Sequence[MultimodalInput]) -> None:
    if isinstance(inputs, (str, MultimodalInput)):
        raise InvalidTypeError(f"a prompt must be a list of parts, not a {type(inputs).__name__}")
    for given in inputs:
        if not isinstance(given, MultimodalInput):
            raise InvalidTypeError(
                f"a part of a prompt must be a MultimodalInput, not a {type(given).__name__}: use "
                "make_text_input, make_image_input or a similar function"
            )


def _from_processor(
    inputs: Mapping[str, Any] | Sequence[MultimodalInput], image_token_id: int | None
) -> Sequence[MultimodalInput]:
    """Converts the output of a processor of transformers to the parts of a prompt."""
    if not isinstance(inputs, Mapping):
        if isinstance(inputs, Sequence):
            return inputs
        raise InvalidTypeError(
            "inputs must be a mapping with input_ids, or a list of the parts of a prompt, not a "
            f"{type(inputs).__name__}"
        )
    if "input_ids" not in inputs:
        raise InvalidArgumentError(
            f"inputs must have input_ids, but have only {', '.join(map(str, inputs)) or 'nothing'}"
        )
    ids = np.asarray(inputs["input_ids"])
    if ids.ndim == 2 and ids.shape[0] == 1:
        ids = ids[0]
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise InvalidArgumentError(
            f"input_ids must be integers of shape [count] or [1, count], not {ids.dtype} {list(ids.shape)}"
        )
    tokens = ids.tolist()
    sequences = _split(tokens, image_token_id)
    images = [part for part, is_image in sequences if is_image]
    pixels = inputs.get("pixel_values")
    if pixels is not None and image_token_id is None:
        raise InvalidArgumentError(
            "inputs have pixel_values: also pass image_token_id, the placeholder token of images"
        )
    found = [] if pixels is None else list(pixels) if len(pixels.shape) == 4 else [pixels]
    if len(found) != len(images):
        raise InvalidArgumentError(
            f"input_ids have {len(images)} sequences of the image token {image_token_id}, but pixel_values "
            f"have {len(found)} images"
        )
    remaining = iter(found)
    return [
        make_image_input(next(remaining)) if is_image else make_token_input(part)
        for part, is_image in sequences
    ]


def _split(tokens: list[int], image: int | None) -> list[tuple[list[int], bool]]:
    """Splits tokens into sequences, and returns for each whether it consists of image tokens."""
    sequences: list[tuple[list[int], bool]] = []
    for token in tokens:
        is_image = token == image
        if not sequences or sequences[-1][1] != is_image:
            sequences.append(([], is_image))
        sequences[-1][0].append(token)
    return sequences
