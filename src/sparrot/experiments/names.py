"""All experiments, in the order in which `sparrot reproduce all` runs them."""

EXPERIMENTS = (
    "convergence",
    "active-set",
    "robustness",
    "sphere",
    "torus",
    "spiral",
    "spiral-dimensions",
    "mixture",
    "digits",
    "single-cell",
    "batch-effects",
)
