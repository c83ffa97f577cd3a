"""The figures of the paper: one module an experiment, with a `draw(numbers)`."""
