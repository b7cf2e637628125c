"""The `rushlight` command. It needs numpy only, except `rushlight compile` and `rushlight quantize`."""
