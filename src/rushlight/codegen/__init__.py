"""Generators: from the schemas in `schema/` to readers and writers in Python and C++."""
