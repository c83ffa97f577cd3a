"""What `import sparrot` offers; `__init__.py` loads each name on first use."""

from . import (
    datasets as datasets,
    errors as errors,
    geometry as geometry,
    layout as layout,
    metrics as metrics,
    plot as plot,
    report as report,
    sc as sc,
    spectral as spectral,
    summary as summary,
)
from .affinity import (
    EOT as EOT,
    KNN as KNN,
    MAGIC as MAGIC,
    QOT as QOT,
    Affinity as Affinity,
    Epanechnikov as Epanechnikov,
    Gaussian as Gaussian,
    GaussianL2 as GaussianL2,
    KNeighborsTransformer as KNeighborsTransformer,
    Tsallis as Tsallis,
    eot as eot,
    epanechnikov as epanechnikov,
    gaussian as gaussian,
    gaussian_l2 as gaussian_l2,
    knn as knn,
    magic as magic,
    match as match,
    perplexity as perplexity,
    project as project,
    qot as qot,
    qot_path as qot_path,
    resume as resume,
    tsallis as tsallis,
)
from .engine import (
    Progress as Progress,
)
from .errors import (
    AffinityWarning as AffinityWarning,
    ClusterError as ClusterError,
    InvalidInputError as InvalidInputError,
    MissingDataError as MissingDataError,
    MissingExtraError as MissingExtraError,
    NotConvergedError as NotConvergedError,
    NotEnoughMemoryError as NotEnoughMemoryError,
    SparrotError as SparrotError,
)
from .geometry import (
    first_order as first_order,
)
from .io import (
    load as load,
    read_labels as read_labels,
    read_points as read_points,
    save as save,
)
from .layout import (
    UMAPLayout as UMAPLayout,
    tsne as tsne,
    tsne_affinities as tsne_affinities,
    umap_layout as umap_layout,
)
from .ot import (
    Certificate as Certificate,
    Coupling as Coupling,
    bregman_divergence as bregman_divergence,
    exp_q as exp_q,
    fenchel_young_loss as fenchel_young_loss,
    log_q as log_q,
    transport as transport,
)
from .spectral import (
    DiffusionMap as DiffusionMap,
    Eigenmaps as Eigenmaps,
    SpectralClustering as SpectralClustering,
    Spectrum as Spectrum,
    eigenpairs as eigenpairs,
)
from .summary import (
    Summary as Summary,
    summarize as summarize,
)

__version__: str
