"""The passes of the compiler, one in each file. `compiler/pipelines.py` defines their order."""
