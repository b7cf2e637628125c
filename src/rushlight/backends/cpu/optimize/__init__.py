"""Passes over the steps of a plan; `pipeline.py` defines their order."""
