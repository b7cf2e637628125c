"""A suite that tests a list of operators on any backend, and prints the results as a table.

`python -m rushlight.testing.suite --backend xnnpack cpu` runs the suite. The names of modules and classes are
those of ExecuTorch's `backends.test.suite`.
"""
