"""gguf's (llama.cpp's) rounding of a block's scale to ue4m3: python cast_gguf.py [HALFCHECK]"""
import importlib.metadata

from gguf.quants import NVFP4

from rule import report

report(f"gguf {importlib.metadata.version('gguf')}",
       [("ue4m3", True, "NVFP4.fp32_to_ue4m3", NVFP4.fp32_to_ue4m3)])
