"""The version of the .bpte format."""

BUNDLED_PROGRAM_SCHEMA_VERSION = 2
