"""Names for the arrays that pass between rooms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Float32Array = NDArray[np.float32]
PointArray = NDArray[np.float32] | NDArray[np.float64]
IntArray = NDArray[np.signedinteger[Any]]
UIntArray = NDArray[np.uint64]
BoolArray = NDArray[np.bool_]
