"""StackBackend: sums, differences and products of equal float32 tensors, run by a small machine."""

from stack.backend import StackBackend
from stack.partitioner import StackPartitioner

__all__ = ["StackBackend", "StackPartitioner"]
