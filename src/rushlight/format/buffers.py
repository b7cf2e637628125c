"""Access to the bytes of buffer objects."""

from __future__ import annotations

from typing import Any

import numpy as np


def byte_view(data: Any) -> memoryview:
    """Returns a read-only view of the bytes of a C-contiguous buffer object, without a copy.

    Args:
        data: bytes, a memoryview, a numpy array or another buffer object.

    Raises:
        TypeError: `data` is not such an object.
    """
    try:
        view = memoryview(data)
    except TypeError as error:
        raise TypeError(f"expected a buffer of bytes, got {type(data).__name__}") from error
    if not view.c_contiguous:
        raise TypeError("expected a contiguous buffer; make a contiguous copy of the array")
    # np.frombuffer supports all element formats and empty arrays; memoryview.cast does not.
    # pickle.PickleBuffer keeps an exported buffer, which crashes CPython before 3.12.6 (gh-77894).
    return np.frombuffer(view, np.uint8).data.toreadonly()
