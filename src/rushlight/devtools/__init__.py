"""Developer tools: they record, measure, show and verify compiled programs."""
