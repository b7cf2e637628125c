"""Networks for which Rushlight is not tuned. `FIELD` lists them, and `models.catalog.build` builds them."""

from models.field import audio, generators, images, language, pictures, tables
from models.field.entry import FIELD

__all__ = ["FIELD", "audio", "generators", "images", "language", "pictures", "tables"]
