"""Networks for tests and benchmarks. Their random or trained weights are the same in every process."""
