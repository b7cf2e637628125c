"""The version of the format."""

BUNDLED_PROGRAM_SCHEMA_VERSION = 2
