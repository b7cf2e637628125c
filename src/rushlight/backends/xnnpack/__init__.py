"""XNNPACK: floating point operators on CPUs."""
