"""Models of transformers with two small layers each and random weights."""

# They register their models.
from benchmarks.zoo.transformers import common, others, text, vision  # noqa: F401
from benchmarks.zoo.transformers.common import library

__all__ = ["library"]
