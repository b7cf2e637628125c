"""The `rushlight` command. Needs numpy alone, but for `rushlight compile`."""
