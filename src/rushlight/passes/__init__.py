"""Graph passes, one a file; `pipelines` holds their order."""
