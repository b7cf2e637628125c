"""What a plan is: the tables of its file, typed operations, and the nodes that passes work on."""
