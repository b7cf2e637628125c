"""Code generators: they generate readers and writers in Python and C++ from the schemas in `schema/`."""
