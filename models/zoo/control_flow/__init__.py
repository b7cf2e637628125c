"""Hand-written modules with control flow, dynamic shapes and sizes that depend on data."""

# They register their models.
from models.zoo.control_flow import flow, sizes  # noqa: F401
