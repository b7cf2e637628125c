"""Plans: the tables of the payload, typed operations, and the steps on which passes work."""
