"""Networks that the tests and the benchmarks share: random or trained weights, the same in every process."""
