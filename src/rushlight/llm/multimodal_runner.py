"""Generation of text from text, images and sound: `MultimodalRunner`."""

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
    """Generates text with a program that has the methods `token_embedding` and `text_decoder`, and
    `vision_encoder` and `audio_encoder` if it takes images and sound.

    Calls continue the text of earlier ones, until `reset`.

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
            inputs: the parts of the prompt. If the configuration asks for an echo, the last part is given
                first if it is a text.
            config: how to generate; None means the defaults of `GenerationConfig`.
            token_callback: gets each piece of text. Without it, the text is printed.
            stats_callback: gets the times and counts at the end.

        Raises:
            InvalidArgumentError: the prompt is empty or too long, a part has a wrong shape, or the
                configuration has no meaning.
            InvalidTypeError: a part has a wrong dtype, or is no part of a prompt.
            NotFoundError: the program has no encoder for a part.
            InvalidStateError: another call uses the runner.
            RushlightError: the model failed.
        """
        config = config or GenerationConfig()
        _check_parts(inputs)
        echo = inputs[-1].get_text() if inputs else None
        self._generate(
            lambda: self._parts(inputs, config), echo or "", config, token_callback, stats_callback
        )

    def generate_text(self, inputs: Sequence[MultimodalInput], config: GenerationConfig | None = None) -> str:
        """Returns what `generate` gives to its callback.

        Args:
            inputs: the parts of the prompt.
            config: how to generate; None means the defaults of `GenerationConfig`.

        Raises:
            RushlightError: as `generate`.
        """
        pieces: list[str] = []
        self.generate(inputs, config, pieces.append)
        return "".join(pieces)

    def prefill(self, inputs: Sequence[MultimodalInput]) -> None:
        """Reads the parts of a prompt, such as the history of a chat, without generating text.

        Args:
            inputs: the parts of the prompt.

        Raises:
            RushlightError: as `generate`.
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
        """As `generate`, for what a processor of the package transformers gives.

        Args:
            inputs: a mapping with `input_ids` [count] or [1, count] and, for images, `pixel_values`
                [images, channels, height, width]; or the parts of the prompt.
            config: how to generate; None means the defaults of `GenerationConfig`.
            image_token_id: the token that stands for images. Each run of it is an image.
            token_callback: gets each piece of text. Without it, the text is printed.
            stats_callback: gets the times and counts at the end.

        Raises:
            RushlightError: as `generate`; and the images are not as many as runs of their token.
        """
        self.generate(_from_processor(inputs, image_token_id), config, token_callback, stats_callback)

    def generate_text_hf(
        self,
        inputs: Mapping[str, Any] | Sequence[MultimodalInput],
        config: GenerationConfig | None = None,
        image_token_id: int | None = None,
    ) -> str:
        """Returns what `generate_hf` gives to its callback.

        Args:
            inputs: what a processor gives, or the parts of the prompt.
            config: how to generate; None means the defaults of `GenerationConfig`.
            image_token_id: the token that stands for images.

        Raises:
            RushlightError: as `generate_hf`.
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
                return Part((), self._model.encode(given.content, "audio_encoder", "sound"))
        return Part((), self._model.encode(given.content, "audio_encoder", "raw sound"))


def _check_parts(inputs: Sequence[MultimodalInput]) -> None:
    if isinstance(inputs, (str, MultimodalInput)):
        raise InvalidTypeError(f"a prompt is a list of parts, not a {type(inputs).__name__}")
    for given in inputs:
        if not isinstance(given, MultimodalInput):
            raise InvalidTypeError(
                f"a part of a prompt is a MultimodalInput, not a {type(given).__name__}: make_text_input and "
                "its relatives make one"
            )


def _from_processor(
    inputs: Mapping[str, Any] | Sequence[MultimodalInput], image_token_id: int | None
) -> Sequence[MultimodalInput]:
    """Returns what a processor of transformers gives as the parts of a prompt."""
    if not isinstance(inputs, Mapping):
        if isinstance(inputs, Sequence):
            return inputs
        raise InvalidTypeError(
            "inputs are a mapping with input_ids, or a list of the parts of a prompt, not a "
            f"{type(inputs).__name__}"
        )
    if "input_ids" not in inputs:
        raise InvalidArgumentError(
            f"inputs have no input_ids, only {', '.join(map(str, inputs)) or 'nothing'}"
        )
    ids = np.asarray(inputs["input_ids"])
    if ids.ndim == 2 and ids.shape[0] == 1:
        ids = ids[0]
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise InvalidArgumentError(
            f"input_ids are integers of shape [count] or [1, count], not {ids.dtype} {list(ids.shape)}"
        )
    tokens = ids.tolist()
    runs = _split(tokens, image_token_id)
    images = [run for run, is_image in runs if is_image]
    pixels = inputs.get("pixel_values")
    if pixels is not None and image_token_id is None:
        raise InvalidArgumentError("inputs have pixel_values: give image_token_id, the token of images")
    found = [] if pixels is None else list(pixels) if len(pixels.shape) == 4 else [pixels]
    if len(found) != len(images):
        raise InvalidArgumentError(
            f"input_ids have {len(images)} runs of the image token {image_token_id}, but pixel_values have "
            f"{len(found)} images"
        )
    left = iter(found)
    return [make_image_input(next(left)) if is_image else make_token_input(run) for run, is_image in runs]


def _split(tokens: list[int], image: int | None) -> list[tuple[list[int], bool]]:
    """Returns runs of tokens, and whether they are those of an image."""
    runs: list[tuple[list[int], bool]] = []
    for token in tokens:
        is_image = token == image
        if not runs or runs[-1][1] != is_image:
            runs.append(([], is_image))
        runs[-1][0].append(token)
    return runs
