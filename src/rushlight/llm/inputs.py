"""The parts of a prompt: text, tokens, images and audio."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from rushlight.runtime.errors import InvalidArgumentError, InvalidTypeError


def _array(tensor: Any, what: str, dtypes: tuple[str, ...]) -> np.ndarray:
    """Converts a tensor (numpy, torch, DLPack) to an array, and checks that its dtype is one of `dtypes`."""
    if not hasattr(tensor, "__dlpack__"):
        raise InvalidTypeError(f"{what} must be a tensor, not a {type(tensor).__name__}")
    if hasattr(tensor, "detach"):
        tensor = tensor.detach()
    try:
        array = tensor if isinstance(tensor, np.ndarray) else np.from_dlpack(tensor)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise InvalidTypeError(f"{what} cannot be read as a numpy array: {error}") from None
    if str(array.dtype) not in dtypes:
        raise InvalidTypeError(
            f"{what} must have the dtype {' or '.join(dtypes)}, not {array.dtype}: convert it"
        )
    return array


def _filled(data: Sequence[float], shape: tuple[int, ...], what: str) -> np.ndarray:
    """Returns numbers as an array of the given shape: uint8 if all are integers, else float32."""
    if any(size < 0 for size in shape):
        raise InvalidArgumentError(f"{what} cannot have the shape {list(shape)}: a size is negative")
    values = np.asarray(data)
    if values.size == 0:
        values = values.astype(np.uint8)
    if values.dtype.kind in "iu":
        if values.size and not 0 <= int(values.min()) <= int(values.max()) <= 255:
            raise InvalidArgumentError(f"the integers of {what} must be from 0 to 255")
        values = values.astype(np.uint8)
    elif values.dtype.kind == "f":
        values = values.astype(np.float32)
    else:
        raise InvalidTypeError(f"the values of {what} must be numbers, not {values.dtype}")
    if values.size != int(np.prod(shape)):
        raise InvalidArgumentError(
            f"{what} of shape {list(shape)} has {int(np.prod(shape))} values, not {values.size}"
        )
    return values.reshape(shape)


class _ArrayInput:
    """An array with the accessors of ExecuTorch's input classes."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def is_uint8(self) -> bool:
        """Returns whether the values are uint8."""
        return self.array.dtype == np.uint8

    def is_float(self) -> bool:
        """Returns whether the values are float32."""
        return self.array.dtype == np.float32

    @property
    def uint8_data(self) -> list[int]:
        """The values in the order of the array.

        Raises:
            InvalidTypeError: the values are float32.
        """
        return self._values("uint8")

    @property
    def float_data(self) -> list[float]:
        """The values in the order of the array.

        Raises:
            InvalidTypeError: the values are uint8.
        """
        return self._values("float32")

    def _values(self, dtype: str) -> list[Any]:
        if str(self.array.dtype) != dtype:
            raise InvalidTypeError(f"the values are {self.array.dtype}, not {dtype}")
        values: list[Any] = self.array.reshape(-1).tolist()
        return values


class Image(_ArrayInput):
    """An image.

    Args:
        data: the values of all channels, one channel after another; integers from 0 to 255, or floats.
        width: the width in pixels.
        height: the height in pixels.
        channels: 3 (RGB) or 4 (RGBA).

    Attributes:
        array: uint8 or float32 [channels, height, width].

    Raises:
        InvalidArgumentError: the number of values does not match the sizes, or an integer is not from 0 to
            255.
        InvalidTypeError: the values are not numbers.
    """

    def __init__(self, data: Sequence[float], width: int, height: int, channels: int) -> None:
        super().__init__(_filled(data, (channels, height, width), "an image"))

    @property
    def width(self) -> int:
        """The width in pixels."""
        return int(self.array.shape[2])

    @property
    def height(self) -> int:
        """The height in pixels."""
        return int(self.array.shape[1])

    @property
    def channels(self) -> int:
        """The number of channels."""
        return int(self.array.shape[0])

    def __repr__(self) -> str:
        return (
            f"<Image height={self.height} width={self.width} channels={self.channels} "
            f"dtype={self.array.dtype}>"
        )


class Audio(_ArrayInput):
    """Audio in the form that an encoder reads, such as a spectrogram.

    Args:
        data: the values; integers from 0 to 255, or floats.
        batch_size: the size of dimension 0.
        n_bins: the size of dimension 1: the number of frequency bins.
        n_frames: the size of dimension 2: the number of time frames.

    Attributes:
        array: uint8 or float32 [batch_size, n_bins, n_frames].

    Raises:
        InvalidArgumentError: the number of values does not match the sizes, or an integer is not from 0 to
            255.
        InvalidTypeError: the values are not numbers.
    """

    def __init__(
        self, data: Sequence[float] = (), batch_size: int = 0, n_bins: int = 0, n_frames: int = 0
    ) -> None:
        super().__init__(_filled(data, (batch_size, n_bins, n_frames), "audio"))

    @property
    def batch_size(self) -> int:
        """The size of dimension 0."""
        return int(self.array.shape[0])

    @property
    def n_bins(self) -> int:
        """The number of frequency bins."""
        return int(self.array.shape[1])

    @property
    def n_frames(self) -> int:
        """The number of time frames."""
        return int(self.array.shape[2])

    def __repr__(self) -> str:
        return (
            f"<Audio batch_size={self.batch_size} n_bins={self.n_bins} n_frames={self.n_frames} "
            f"dtype={self.array.dtype}>"
        )


class RawAudio(_ArrayInput):
    """Audio as samples.

    Args:
        data: the values; integers from 0 to 255, or floats.
        batch_size: the size of dimension 0.
        n_channels: the size of dimension 1: 1 (mono) or 2 (stereo).
        n_samples: the size of dimension 2: the number of samples of each channel.

    Attributes:
        array: uint8 or float32 [batch_size, n_channels, n_samples].

    Raises:
        InvalidArgumentError: the number of values does not match the sizes, or an integer is not from 0 to
            255.
        InvalidTypeError: the values are not numbers.
    """

    def __init__(
        self, data: Sequence[float] = (), batch_size: int = 0, n_channels: int = 0, n_samples: int = 0
    ) -> None:
        super().__init__(_filled(data, (batch_size, n_channels, n_samples), "raw audio"))

    @property
    def data(self) -> list[Any]:
        """The values in the order of the array."""
        return self._values(str(self.array.dtype))

    @property
    def batch_size(self) -> int:
        """The size of dimension 0."""
        return int(self.array.shape[0])

    @property
    def n_channels(self) -> int:
        """The number of channels."""
        return int(self.array.shape[1])

    @property
    def n_samples(self) -> int:
        """The number of samples of a channel."""
        return int(self.array.shape[2])

    def __repr__(self) -> str:
        return (
            f"<RawAudio batch_size={self.batch_size} n_channels={self.n_channels} n_samples={self.n_samples}>"
        )


_SHOWN = 50  # the largest number of characters of a text in its repr


class MultimodalInput:
    """One part of a prompt.

    Args:
        content: a text, tokens, or an Image, Audio or RawAudio.

    Raises:
        InvalidTypeError: the content is of another type.
        InvalidArgumentError: a token is negative.
    """

    def __init__(self, content: str | Sequence[int] | Image | Audio | RawAudio) -> None:
        self.content: str | list[int] | Image | Audio | RawAudio
        if isinstance(content, (str, Image, Audio, RawAudio)):
            self.content = content
        else:
            self.content = _tokens(content)

    def is_text(self) -> bool:
        """Returns whether this is a text."""
        return isinstance(self.content, str)

    def is_tokens(self) -> bool:
        """Returns whether this is a list of tokens."""
        return isinstance(self.content, list)

    def is_image(self) -> bool:
        """Returns whether this is an image."""
        return isinstance(self.content, Image)

    def is_audio(self) -> bool:
        """Returns whether this is audio in the form that an encoder reads (`Audio`)."""
        return isinstance(self.content, Audio)

    def is_raw_audio(self) -> bool:
        """Returns whether this is audio as samples (`RawAudio`)."""
        return isinstance(self.content, RawAudio)

    def get_text(self) -> str | None:
        """Returns the text, or None if this is not a text."""
        return self.content if isinstance(self.content, str) else None

    def get_tokens(self) -> list[int] | None:
        """Returns the tokens, or None if this is not a list of tokens."""
        return self.content if isinstance(self.content, list) else None

    def get_image(self) -> Image | None:
        """Returns the image, or None if this is not an image."""
        return self.content if isinstance(self.content, Image) else None

    def get_audio(self) -> Audio | None:
        """Returns the `Audio`, or None if this is not one."""
        return self.content if isinstance(self.content, Audio) else None

    def get_raw_audio(self) -> RawAudio | None:
        """Returns the `RawAudio`, or None if this is not one."""
        return self.content if isinstance(self.content, RawAudio) else None

    @property
    def kind(self) -> str:
        """The kind of the part: "text", "tokens", "image", "audio" or "raw_audio"."""
        kinds = {str: "text", list: "tokens", Image: "image", Audio: "audio", RawAudio: "raw_audio"}
        return next(name for type, name in kinds.items() if isinstance(self.content, type))

    def __repr__(self) -> str:
        shown = ""
        if isinstance(self.content, str):
            text = self.content if len(self.content) <= _SHOWN else self.content[:_SHOWN] + "..."
            shown = f' content="{text}"'
        return f"<MultimodalInput type={self.kind}{shown}>"


def _tokens(tokens: Any) -> list[int]:
    """Converts tokens to a list of integers."""
    if isinstance(tokens, (str, bytes, bytearray)) or not isinstance(tokens, Sequence):
        raise InvalidTypeError(
            "a part of a prompt must be a text, a list of tokens, an Image, an Audio or a RawAudio, not a "
            f"{type(tokens).__name__}"
        )
    result: list[int] = []
    for token in tokens:
        try:
            result.append(operator.index(token))
        except TypeError:
            raise InvalidTypeError(f"a token must be an integer, not {token!r}") from None
        if result[-1] < 0:
            raise InvalidArgumentError(f"a token must be 0 or more, not {token}")
    return result


def make_text_input(text: str) -> MultimodalInput:
    """Returns a text as a part of a prompt.

    Args:
        text: the text.

    Raises:
        InvalidTypeError: `text` is not a str.
    """
    if not isinstance(text, str):
        raise InvalidTypeError(f"a text must be a str, not a {type(text).__name__}")
    return MultimodalInput(text)


def make_token_input(tokens: Sequence[int]) -> MultimodalInput:
    """Returns tokens as a part of a prompt.

    Args:
        tokens: the numbers of the tokens.

    Raises:
        InvalidTypeError: a token is not an integer.
        InvalidArgumentError: a token is negative.
    """
    return MultimodalInput(_tokens(tokens))


_COLOR_CHANNELS = (3, 4)  # RGB, RGBA


def make_image_input(image_tensor: Any) -> MultimodalInput:
    """Returns an image as a part of a prompt.

    Args:
        image_tensor: uint8 or float32 [channels, height, width] or [height, width, channels], with 3 or 4
            channels. A batch dimension of size 1 may come first. If both orders are possible, dimension 0 is
            the channels. A torch tensor, a numpy array or another object that supports DLPack.

    Raises:
        InvalidTypeError: the argument is not a tensor of these dtypes.
        InvalidArgumentError: the tensor has another shape.
    """
    array = _array(image_tensor, "an image", ("uint8", "float32"))
    shape = list(array.shape)
    if array.ndim == 4:
        if array.shape[0] != 1:
            raise InvalidArgumentError(
                f"a tensor of shape {shape} is {shape[0]} images: use one part of the prompt for each image"
            )
        array = array[0]
    if array.ndim != 3 or not (array.shape[0] in _COLOR_CHANNELS or array.shape[2] in _COLOR_CHANNELS):
        raise InvalidArgumentError(
            f"an image must have the shape [channels, height, width] or [height, width, channels], with 3 or "
            f"4 channels, not {shape}"
        )
    if array.shape[0] not in _COLOR_CHANNELS:
        array = array.transpose(2, 0, 1)
    image = Image([], 0, 0, 0)
    image.array = np.array(array, order="C")
    return MultimodalInput(image)


def make_audio_input(audio_tensor: Any) -> MultimodalInput:
    """Returns audio in the form that an encoder reads, such as a spectrogram, as a part of a prompt.

    Args:
        audio_tensor: uint8 or float32 [batch_size, n_bins, n_frames]: a torch tensor, a numpy array or
            another object that supports DLPack.

    Raises:
        InvalidTypeError: the argument is not a tensor of these dtypes.
        InvalidArgumentError: the tensor does not have 3 dimensions.
    """
    audio = Audio()
    audio.array = _audio_array(audio_tensor, "audio", ["batch_size", "n_bins", "n_frames"])
    return MultimodalInput(audio)


def make_raw_audio_input(audio_tensor: Any) -> MultimodalInput:
    """Returns audio samples as a part of a prompt.

    Args:
        audio_tensor: uint8 or float32 [batch_size, n_channels, n_samples]: a torch tensor, a numpy array or
            another object that supports DLPack.

    Raises:
        InvalidTypeError: the argument is not a tensor of these dtypes.
        InvalidArgumentError: the tensor does not have 3 dimensions.
    """
    audio = RawAudio()
    audio.array = _audio_array(audio_tensor, "raw audio", ["batch_size", "n_channels", "n_samples"])
    return MultimodalInput(audio)


def _audio_array(tensor: Any, what: str, dims: list[str]) -> np.ndarray:
    array = _array(tensor, what, ("uint8", "float32"))
    if array.ndim != 3:
        raise InvalidArgumentError(f"{what} must have the shape [{', '.join(dims)}], not {list(array.shape)}")
    return np.array(array, order="C")
