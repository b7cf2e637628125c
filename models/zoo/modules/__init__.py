"""Hand-written modules: state, kinds of inputs and outputs, recurrent layers, seldom used operators."""

# Importing these modules registers their models.
from models.zoo.modules import algebra, functions, networks, recurrent, state  # noqa: F401
