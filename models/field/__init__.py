"""Networks for which Rushlight is not tuned. `FIELD` lists them, and `models.catalog.build` builds them."""

from models.field import audio, images, language, pictures, tables
from models.field.entry import FIELD

__all__ = ["FIELD", "audio", "images", "language", "pictures", "tables"]
