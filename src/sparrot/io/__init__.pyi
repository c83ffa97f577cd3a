"""The names of this room; `__init__.py` loads each on first use."""

from ._affinities import (
    holds_affinity as holds_affinity,
    load as load,
    save as save,
    write_entries as write_entries,
)
from ._anndata import (
    DEFAULT_KEY as DEFAULT_KEY,
    SCANPY_NEIGHBORS as SCANPY_NEIGHBORS,
    SCANPY_WIDE as SCANPY_WIDE,
    get_affinity as get_affinity,
    get_connectivities as get_connectivities,
    get_floors as get_floors,
    graph_keys as graph_keys,
    listed_keys as listed_keys,
    nearest_distances as nearest_distances,
    put_graph as put_graph,
    writing_anndata as writing_anndata,
)
from ._formats import (
    FORMATS as FORMATS,
    ending as ending,
    formats_holding as formats_holding,
    formats_taking as formats_taking,
    require_file as require_file,
)
from ._h5ad import (
    default_array as default_array,
    list_affinities as list_affinities,
    list_arrays as list_arrays,
    open_hdf5 as open_hdf5,
    read_anndata as read_anndata,
    read_annotations as read_annotations,
    require_cells as require_cells,
    write_new_anndata as write_new_anndata,
)
from ._numpy import (
    open_npz as open_npz,
    read_csr as read_csr,
)
from ._points import (
    Table as Table,
    list_columns as list_columns,
    read_labels as read_labels,
    read_matrix as read_matrix,
    read_names as read_names,
    read_points as read_points,
    write_table as write_table,
)
