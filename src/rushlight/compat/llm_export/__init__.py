"""Passes, partitioners and quantizers for language models, as in `executorch.extension.llm.export`."""
