"""The names of this room; `__init__.py` loads each on first use."""

from ._graphs import (
    KNN as KNN,
    MAGIC as MAGIC,
    Epanechnikov as Epanechnikov,
    Gaussian as Gaussian,
    GaussianL2 as GaussianL2,
    epanechnikov as epanechnikov,
    gaussian as gaussian,
    gaussian_l2 as gaussian_l2,
    knn as knn,
    magic as magic,
)
from ._neighbors import (
    KNeighborsTransformer as KNeighborsTransformer,
)
from ._registry import (
    match as match,
    resume as resume,
)
from ._result import (
    Affinity as Affinity,
    perplexity as perplexity,
)
from ._transport import (
    EOT as EOT,
    QOT as QOT,
    Tsallis as Tsallis,
    eot as eot,
    project as project,
    qot as qot,
    qot_path as qot_path,
    tsallis as tsallis,
)
