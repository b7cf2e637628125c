"""The intermediate representation: dialects, operators, tensor specs, metadata, verifiers and text."""
