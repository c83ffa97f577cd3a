"""Experiments: parameters in, numbers out; the plotting room draws them."""
