"""An extension of Model Explorer, which loads its module `main`."""
