"""Tools that record, measure, explain and verify compiled programs."""
