"""The named affinities: functions, estimators, and their one result type."""

from sparrot.affinity.eot import eot, tsallis
from sparrot.affinity.estimator import QOT
from sparrot.affinity.perplexity import perplexity
from sparrot.affinity.qot import project, qot, qot_path
from sparrot.affinity.result import Affinity

__all__ = ["QOT", "Affinity", "eot", "perplexity", "project", "qot", "qot_path", "tsallis"]
