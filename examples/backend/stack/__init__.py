"""StackBackend: sums, differences and products of float32 tensors with equal shapes."""

from stack.backend import StackBackend
from stack.partitioner import StackPartitioner

__all__ = ["StackBackend", "StackPartitioner"]
