"""Networks after those of their fields: generation, audio, graphs, detection, recommendation."""

# They register their models.
from models.zoo.domains import audio, generative, graphs, sequences, vision  # noqa: F401
