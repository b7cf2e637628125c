"""Lowers the nodes of a graph to steps, by operator family; `table.py` has one row for each operator."""
