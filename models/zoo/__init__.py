"""The model zoo: small programs with random weights, compiled and compared with eager call by call."""
