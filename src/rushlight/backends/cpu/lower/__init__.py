"""What the nodes of a graph become, by operator family; `table.py` has one row for each operator."""
