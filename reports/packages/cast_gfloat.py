"""gfloat's rounding of fp32: python cast_gfloat.py [HALFCHECK]; use --some."""
import importlib.metadata

import numpy as np
from gfloat import RoundMode, encode_ndarray, round_ndarray
from gfloat.formats import (format_info_ocp_e2m1, format_info_ocp_e2m3, format_info_ocp_e3m2,
                            format_info_ocp_e4m3, format_info_ocp_e5m2)

from rule import report

TYPES = {"e4m3": format_info_ocp_e4m3, "e5m2": format_info_ocp_e5m2,
         "e2m3": format_info_ocp_e2m3, "e3m2": format_info_ocp_e3m2, "e2m1": format_info_ocp_e2m1}


def rounded(info, saturate):
    def convert(x):
        wide = np.asarray(x).astype(np.float64)
        if not info.num_nans:
            wide = np.where(np.isnan(wide), 0, wide)
        return encode_ndarray(info, round_ndarray(info, wide, RoundMode.TiesToEven,
                                                  saturate)).astype(np.uint8)
    return convert


report(f"gfloat {importlib.metadata.version('gfloat')}",
       [(name, saturate, "round_ndarray", rounded(info, saturate)) for name, info in TYPES.items()
        for saturate in ((True, False) if info.num_nans else (True,))])
