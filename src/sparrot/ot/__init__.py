"""Costs -> potential and plan: regularized optimal transport, with a certificate of optimality."""

from sparrot.ot._ctransform import transform_scores
from sparrot.ot._measures import Coupling, require_digits, transport
from sparrot.ot._out_of_sample import new_entropic_rows, new_floor_rows, new_rows, twins
from sparrot.ot._path import (
    MIN_NEIGHBORS,
    PERPLEXITY,
    PERPLEXITY_PRECISION,
    EpsilonPath,
    Scale,
    Start,
    find_root,
)
from sparrot.ot._problem import (
    Certificate,
    EntropicRegularizer,
    Options,
    PowerRegularizer,
    Problem,
    QuadraticRegularizer,
    Regularizer,
    Solution,
    TsallisRegularizer,
    compressed,
    marginal_error,
    number_of_pairs,
    perplexities,
)
from sparrot.ot._screening import as_slice, list_hits, screen
from sparrot.ot._solve import METHODS, SEARCHES, SOLVERS

__all__ = [
    "METHODS",
    "MIN_NEIGHBORS",
    "PERPLEXITY",
    "PERPLEXITY_PRECISION",
    "SEARCHES",
    "SOLVERS",
    "Certificate",
    "Coupling",
    "EntropicRegularizer",
    "EpsilonPath",
    "Options",
    "PowerRegularizer",
    "Problem",
    "QuadraticRegularizer",
    "Regularizer",
    "Scale",
    "Solution",
    "Start",
    "TsallisRegularizer",
    "as_slice",
    "compressed",
    "find_root",
    "list_hits",
    "marginal_error",
    "new_entropic_rows",
    "new_floor_rows",
    "new_rows",
    "number_of_pairs",
    "perplexities",
    "require_digits",
    "screen",
    "transform_scores",
    "transport",
    "twins",
]
