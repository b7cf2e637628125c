"""The backend for OpenVINO, whose library converts partitions ahead of time and compiles them at run time."""

from __future__ import annotations

from rushlight.backends.openvino.backend import OpenvinoBackend
from rushlight.backends.openvino.partitioner import OpenvinoPartitioner

__all__ = ["OpenvinoBackend", "OpenvinoPartitioner"]
