"""Hand-written modules with control flow, dynamic shapes and sizes that depend on data."""

# Importing these modules registers their models.
from models.zoo.control_flow import flow, sizes  # noqa: F401
