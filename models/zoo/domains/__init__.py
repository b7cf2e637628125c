"""Typical networks of several fields: generation, audio, graphs, detection, recommendation."""

# Importing these modules registers their models.
from models.zoo.domains import audio, generative, graphs, sequences, vision  # noqa: F401
