"""The names of this room; `__init__.py` loads each on first use."""

from ._diagnostics import (
    EACH_PIECE as EACH_PIECE,
    KEEP_LARGEST as KEEP_LARGEST,
    LARGER as LARGER,
    better_search as better_search,
    complete_pieces as complete_pieces,
    in_pieces as in_pieces,
    leave_pieces_to_caller as leave_pieces_to_caller,
    n_large_pieces as n_large_pieces,
    signs_of_poor_choice as signs_of_poor_choice,
    small_size as small_size,
    ways_to_connect as ways_to_connect,
)
from ._estimator import (
    AffinityEstimator as AffinityEstimator,
    check_features as check_features,
    validated as validated,
)
from ._folder import (
    ENDING as ENDING,
    as_new_folder as as_new_folder,
    open_folder as open_folder,
    write_folder as write_folder,
)
from ._graphs import (
    KNN as KNN,
    MAGIC as MAGIC,
    Epanechnikov as Epanechnikov,
    Gaussian as Gaussian,
    GaussianL2 as GaussianL2,
    as_bandwidth as as_bandwidth,
    costs_below as costs_below,
    epanechnikov as epanechnikov,
    gaussian as gaussian,
    gaussian_l2 as gaussian_l2,
    knn as knn,
    magic as magic,
)
from ._kinds import (
    AUTO as AUTO,
    KINDS as KINDS,
    kinds as kinds,
)
from ._neighbors import (
    KNeighborsTransformer as KNeighborsTransformer,
    cost_named as cost_named,
    distance_named as distance_named,
    nearest_in as nearest_in,
    nearest_of_new as nearest_of_new,
    nearest_others as nearest_others,
)
from ._record import (
    LOST_MASS as LOST_MASS,
    from_record as from_record,
    of_part as of_part,
    require_rows as require_rows,
    require_schema as require_schema,
    to_record as to_record,
)
from ._registry import (
    build as build,
    fit as fit,
    is_auto as is_auto,
    match as match,
    named_estimator as named_estimator,
    resume as resume,
    with_defaults as with_defaults,
)
from ._result import (
    Affinity as Affinity,
    perplexity as perplexity,
    require_affinity as require_affinity,
)
from ._transport import (
    EOT as EOT,
    QOT as QOT,
    TransportEstimator as TransportEstimator,
    Tsallis as Tsallis,
    as_drop as as_drop,
    as_floor as as_floor,
    as_options as as_options,
    as_scale as as_scale,
    as_sparse_q as as_sparse_q,
    eot as eot,
    is_no_floor as is_no_floor,
    project as project,
    qot as qot,
    qot_path as qot_path,
    require_one_floor as require_one_floor,
    tsallis as tsallis,
)
