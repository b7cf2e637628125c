"""Views of buffer objects as bytes."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from rushlight.format.buffers import byte_view


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"abc",
        bytearray(b"ab"),
        np.arange(6, dtype=np.float16).reshape(2, 3),
        np.zeros((2, 0, 3), np.complex64),
        np.ones((2, 2), np.complex128),
        np.array(3.5),
        np.array([True, False]),
    ],
    ids=lambda data: f"{type(data).__name__}{getattr(data, 'shape', '')}",
)
def test_shows_the_bytes_without_a_copy(data: bytes | bytearray | np.ndarray) -> None:
    for source in (data, memoryview(data)):  # type: ignore[arg-type]
        view = byte_view(source)
        assert view.readonly and view.format == "B" and view.ndim == 1
        assert bytes(view) == (data.tobytes() if isinstance(data, np.ndarray) else bytes(data))
    if isinstance(data, np.ndarray) and data.size:
        assert np.shares_memory(np.frombuffer(byte_view(data), np.uint8), data)


def test_says_what_it_cannot_show() -> None:
    with pytest.raises(TypeError, match="got int"):
        byte_view(3)
    with pytest.raises(TypeError, match="contiguous"):
        byte_view(np.zeros((4, 4))[:, ::2])


def test_views_in_a_cycle_are_collected() -> None:
    class Owner:
        pass

    gc.disable()
    try:
        view = byte_view(memoryview(bytes(range(256)))[16:64])
        owner = Owner()  # younger than the view, so that the collector clears it last
        owner.view, owner.itself = view, owner  # type: ignore[attr-defined]
        del view, owner
        assert gc.collect() >= 2
    finally:
        gc.enable()
