"""Passes over the steps of a plan; `pipeline.py` shows their order."""
