"""One file per system: `prepare(case, folder, threads)` returns a function that runs the model once on its inputs."""
