"""An extension for Model Explorer. Model Explorer loads the module `main` of this package."""
