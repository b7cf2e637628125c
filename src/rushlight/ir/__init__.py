"""The vocabulary of the compiler: dialects, operators, tensor specs, metadata, verifiers and text."""
