"""One file a system: `prepare(case, folder, threads)` gives a function that runs the model once."""
