"""Tables from files: CSV and its relatives, ARFF, Parquet; each file is checked against what its ending says."""

from mmbn_opt.data.readers.table import NA_VALUES, read_table

__all__ = ["NA_VALUES", "read_table"]
