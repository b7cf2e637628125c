"""Models of the package transformers with two small layers each and random weights."""

# Importing these modules registers their models.
from models.zoo.transformers import common, others, text, vision  # noqa: F401
from models.zoo.transformers.common import library

__all__ = ["library"]
