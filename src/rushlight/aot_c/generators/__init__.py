"""Generators: the functions that write the C code of operators. Each file has a family of operators."""
