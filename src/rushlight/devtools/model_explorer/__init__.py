"""An extension for Model Explorer, which loads the module `main` of this package."""
