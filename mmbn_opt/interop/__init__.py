"""Exchange with files and other packages: JSON models, BIF, networkx, local scores, and the files of a run."""

from mmbn_opt.interop.bif import read_bif, write_bif
from mmbn_opt.interop.graphs import from_networkx, to_networkx
from mmbn_opt.interop.jkl import read_jkl, write_jkl
from mmbn_opt.interop.json_model import load_network, network_from_dict, network_to_dict, save_network
from mmbn_opt.interop.result_files import result_to_dict, write_result_files

__all__ = [
    "from_networkx",
    "load_network",
    "network_from_dict",
    "network_to_dict",
    "read_bif",
    "read_jkl",
    "result_to_dict",
    "save_network",
    "to_networkx",
    "write_bif",
    "write_jkl",
    "write_result_files",
]
