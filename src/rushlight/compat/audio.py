"""ExecuTorch's module that computes the log-mel spectrograms that Whisper and Voxtral take as input."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import torch
from torch.export import Dim, export

from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.exir import EdgeCompileConfig, to_edge_transform_and_lower

_LINEAR_HZ = 200 / 3  # the width of a mel below the first logarithmic frequency
_FIRST_LOG_HZ = 1000.0
_LOG_STEP = math.log(6.4) / 27  # the logarithm of the ratio of two frequencies that are one mel apart
_HIGHEST_MEL = _FIRST_LOG_HZ / _LINEAR_HZ + math.log(8000 / _FIRST_LOG_HZ) / _LOG_STEP


class WhisperAudioProcessor(torch.nn.Module):
    """Computes the features of a waveform, as WhisperFeatureExtractor of Hugging Face does.

    Args:
        feature_size: the number of mel bands.
        sampling_rate: samples per second.
        hop_length: samples between two windows.
        chunk_length: seconds of a chunk. The waveform is padded to whole chunks.
        n_fft: samples of a window.
        padding_value: the value of padding samples.
        max_audio_len: the longest waveform of an exported program, in seconds.
        stack_output: return one row of features for each chunk, instead of one row of all chunks.
        streaming: do not pad the waveform.

    Raises:
        ValueError: both `stack_output` and `streaming` are True.
    """

    def __init__(
        self,
        feature_size: int = 80,
        sampling_rate: int = 16000,
        hop_length: int = 160,
        chunk_length: int = 30,
        n_fft: int = 400,
        padding_value: float = 0.0,
        max_audio_len: int = 600,
        stack_output: bool = False,
        streaming: bool = False,
    ) -> None:
        super().__init__()
        if streaming and stack_output:
            raise ValueError("stack_output needs whole chunks, and streaming does not pad to whole chunks")
        self.feature_size, self.sampling_rate, self.hop_length = feature_size, sampling_rate, hop_length
        self.chunk_length, self.n_fft, self.padding_value = chunk_length, n_fft, padding_value
        self.max_audio_len, self.stack_output, self.streaming = max_audio_len, stack_output, streaming
        self.n_samples = chunk_length * sampling_rate
        self.nb_max_frames = self.n_samples // hop_length
        self.mel_filters = self.get_mel_filters(sampling_rate, n_fft, feature_size)
        self._window = torch.hann_window(n_fft)

    def get_mel_filters(
        self, sr: int, n_fft: int, n_mels: int = 128, dtype: torch.dtype = torch.float32
    ) -> torch.Tensor:
        """Returns the weight of each frequency in each band: triangles of equal area on Slaney's mel scale.

        Args:
            sr: samples per second.
            n_fft: samples of a window.
            n_mels: the number of bands.
            dtype: the dtype of the result.

        Returns:
            Weights of shape (n_mels, n_fft // 2 + 1).
        """
        frequencies = torch.fft.rfftfreq(n_fft, 1 / sr, dtype=torch.float64)
        mels = torch.linspace(0, _HIGHEST_MEL, n_mels + 2, dtype=torch.float64)
        logarithmic = _FIRST_LOG_HZ * torch.exp(_LOG_STEP * (mels - _FIRST_LOG_HZ / _LINEAR_HZ))
        edges = torch.where(mels * _LINEAR_HZ < _FIRST_LOG_HZ, mels * _LINEAR_HZ, logarithmic)[:, None]
        left, center, right = edges[:-2], edges[1:-1], edges[2:]
        rising = (frequencies - left) / (center - left)
        falling = (right - frequencies) / (right - center)
        return (torch.minimum(rising, falling).clamp(min=0) * 2 / (right - left)).to(dtype)

    def forward(self, waveform: torch.Tensor) -> torch.Tensor:
        """Returns the features of a waveform.

        Args:
            waveform: float32 samples of shape (samples,).

        Returns:
            float32 features of shape (1, feature_size, frames), or (chunks, feature_size, nb_max_frames) with
            `stack_output`.
        """
        if not self.streaming:
            chunks = (waveform.shape[0] - 1) // self.n_samples + 1
            padding = (0, self.n_samples * chunks - waveform.shape[0])
            waveform = torch.nn.functional.pad(waveform, padding, value=self.padding_value)
        spectrum = torch.stft(
            waveform, self.n_fft, self.hop_length, window=self._window, center=True, return_complex=True
        )
        power = torch.abs(spectrum)[..., :-1] ** 2
        decades = torch.log10(torch.clamp(self.mel_filters @ power, min=1e-10))
        features = torch.maximum(decades, decades.max() - 8) / 4 + 1
        if self.stack_output:
            return features.reshape(self.feature_size, -1, self.nb_max_frames).transpose(0, 1)
        return features[None]


def export_processor(
    output_file: str = "whisper_preprocess.pte", backend: str = "xnnpack", **model_kwargs: Any
) -> None:
    """Writes a program file of a `WhisperAudioProcessor`, which takes waveforms of all lengths.

    Args:
        output_file: the path of the program file.
        backend: the backend, "xnnpack".
        **model_kwargs: the arguments of `WhisperAudioProcessor`.

    Raises:
        ValueError: Rushlight does not have the backend.
    """
    if backend != "xnnpack":
        raise ValueError(f"the backend must be 'xnnpack', not {backend!r}")
    model = WhisperAudioProcessor(**model_kwargs)
    longest = (2 if model.streaming else model.max_audio_len) * model.sampling_rate
    shapes = ({0: Dim.DYNAMIC(max=longest)},)
    patch: Any = torch.fx.experimental._config.patch  # type: ignore[attr-defined]
    with torch.no_grad(), patch(backed_size_oblivious=True):
        program = export(
            model, (torch.randn(min(5 * model.sampling_rate, longest)),), dynamic_shapes=shapes, strict=True
        )
        edge = to_edge_transform_and_lower(
            program,
            partitioner=[XnnpackPartitioner()],
            compile_config=EdgeCompileConfig(_check_ir_validity=False),
        )
    Path(output_file).parent.mkdir(parents=True, exist_ok=True)
    with open(output_file, "wb") as file:
        edge.to_executorch().write_to_file(file)


def main() -> None:
    """The command line of `export_processor`."""
    parser = argparse.ArgumentParser(description="Writes a program that computes log-mel spectrograms.")
    numbers = {
        "feature_size": 80,
        "sampling_rate": 16000,
        "hop_length": 160,
        "chunk_length": 30,
        "n_fft": 400,
        "max_audio_len": 600,
    }
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    for name in ("stack_output", "streaming"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--output_file", default="whisper_preprocess.pte")
    parser.add_argument("--backend", default="xnnpack")
    export_processor(**vars(parser.parse_args()))
