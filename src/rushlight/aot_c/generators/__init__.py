"""Generators: for each operator, the function that writes its C. One file for each family of operators."""
