"""Costs -> potential and plan: regularized optimal transport, with a certificate of optimality."""

from sparrot.ot._approximate import neighbor_graph
from sparrot.ot._ctransform import transform_scores
from sparrot.ot._divergences import as_q, bregman_divergence, exp_q, fenchel_young_loss, log_q
from sparrot.ot._measures import Coupling, require_digits, transport
from sparrot.ot._out_of_sample import new_entropic_rows, new_floor_rows, new_rows, twins
from sparrot.ot._path import (
    MIN_NEIGHBORS,
    PERPLEXITY,
    PERPLEXITY_PRECISION,
    EpsilonPath,
    Scale,
    Secant,
    Start,
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
    certificate_in_words,
    compressed,
    errors_in_words,
    is_connected,
    marginal_error,
    number_of_pairs,
    perplexities,
)
from sparrot.ot._screening import screen
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
    "Secant",
    "Solution",
    "Start",
    "TsallisRegularizer",
    "as_q",
    "bregman_divergence",
    "certificate_in_words",
    "compressed",
    "errors_in_words",
    "exp_q",
    "fenchel_young_loss",
    "is_connected",
    "log_q",
    "marginal_error",
    "neighbor_graph",
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
