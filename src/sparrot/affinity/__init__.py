"""The named affinities: functions, estimators, and their one result type."""

from sparrot.affinity.estimator import QOT
from sparrot.affinity.qot import project, qot
from sparrot.affinity.result import Affinity

__all__ = ["QOT", "Affinity", "project", "qot"]
