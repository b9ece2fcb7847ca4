"""Other tools' files and objects."""

from mmbn_opt.interop.bif import read_bif, write_bif
from mmbn_opt.interop.csv_text import from_spreadsheet
from mmbn_opt.interop.dot import to_dot
from mmbn_opt.interop.graphs import (
    from_edge_list,
    from_networkx,
    network_from_networkx,
    network_to_networkx,
    structure_from_networkx,
    to_edge_list,
    to_networkx,
)
from mmbn_opt.interop.jkl import read_jkl, write_jkl
from mmbn_opt.interop.json_model import load_network, network_from_dict, network_to_dict, save_network
from mmbn_opt.interop.result_files import result_to_dict, write_result_files
from mmbn_opt.interop.uai import read_uai, write_uai
from mmbn_opt.interop.with_pgmpy import from_pgmpy, to_pgmpy
from mmbn_opt.interop.with_pyagrum import from_pyagrum, to_pyagrum
from mmbn_opt.interop.xmlbif import read_xmlbif, write_xmlbif

__all__ = [
    "from_edge_list",
    "from_networkx",
    "from_pgmpy",
    "from_pyagrum",
    "from_spreadsheet",
    "load_network",
    "network_from_dict",
    "network_from_networkx",
    "network_to_dict",
    "network_to_networkx",
    "read_bif",
    "read_jkl",
    "read_uai",
    "read_xmlbif",
    "result_to_dict",
    "save_network",
    "structure_from_networkx",
    "to_dot",
    "to_edge_list",
    "to_networkx",
    "to_pgmpy",
    "to_pyagrum",
    "write_bif",
    "write_jkl",
    "write_result_files",
    "write_uai",
    "write_xmlbif",
]
