"""A table of operators that any backend runs, and its results as a table.

`python -m rushlight.testing.suite --backend xnnpack cpu` runs it. The parts have the names of ExecuTorch's
`backends.test.suite`.
"""
