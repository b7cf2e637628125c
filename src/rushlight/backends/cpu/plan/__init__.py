"""Plans: the tables of the payload, the types of operations, and the steps that passes change."""
