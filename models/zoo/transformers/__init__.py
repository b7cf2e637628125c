"""Models of transformers with two small layers each and random weights."""

# They register their models.
from models.zoo.transformers import common, others, text, vision  # noqa: F401
from models.zoo.transformers.common import library

__all__ = ["library"]
