"""Many networks, which nothing is tuned for: `FIELD` lists them, `models.catalog.build` builds them."""

from models.field import audio, images, language, pictures, tables
from models.field.entry import FIELD

__all__ = ["FIELD", "audio", "images", "language", "pictures", "tables"]
