"""Graph passes, one in each file; `compiler/pipelines.py` holds their order."""
