"""Where tensors lie: planned graphs from graphs of out variants."""
