"""oneDNN's conversions of fp32: ONEDNN=FOLDER python cast_onednn.py [HALFCHECK]

FOLDER holds oneDNN's sources. float8.cpp, float4.cpp and bfloat16.cpp are compiled, so these
are its scalar conversions, which its reference kernels use; kernels that are made at run time are
not among them. The bf16 helper that asks the CPU says that it cannot.
"""
import ctypes
import os
import pathlib
import re
import subprocess
import tempfile

import numpy as np

from rule import report

SHIM = """
#include "common/float4.hpp"
#include "common/float8.hpp"
namespace dnnl { namespace impl {
bool try_cvt_float_to_bfloat16(bfloat16_t *, const float *) { return false; }
} }
template <typename T> static void all(const float *x, unsigned char *codes, long size)
{
    for (long i = 0; i < size; i++) {
        T code;
        code = x[i];
        codes[i] = code.raw_bits_;
    }
}
extern "C" {
void e4m3(const float *x, unsigned char *y, long n) { all<dnnl::impl::float8_e4m3_t>(x, y, n); }
void e5m2(const float *x, unsigned char *y, long n) { all<dnnl::impl::float8_e5m2_t>(x, y, n); }
void e2m1(const float *x, unsigned char *y, long n) { all<dnnl::impl::float4_e2m1_t>(x, y, n); }
}
"""


def configured(text):
    """dnnl_config.h for one thread and no GPU, of the template that CMake fills in."""
    text = re.sub(r"#cmakedefine (DNNL_CPU_\w*RUNTIME).*", r"#define \1 DNNL_RUNTIME_SEQ", text)
    text = re.sub(r"#cmakedefine (DNNL_GPU_RUNTIME).*", r"#define \1 DNNL_RUNTIME_NONE", text)
    text = re.sub(r"#cmakedefine01 (\w+)", r"#define \1 0", text)
    return re.sub(r"#cmakedefine .*", "", text)


def built(source, folder):
    """The shared library of the conversions."""
    generated = folder / "oneapi" / "dnnl"
    generated.mkdir(parents=True)
    include = source / "include" / "oneapi" / "dnnl"
    (generated / "dnnl_config.h").write_text(configured((include / "dnnl_config.h.in").read_text()))
    (generated / "dnnl_version.h").write_text(
        re.sub("@[A-Z_]*@", "0", (include / "dnnl_version.h.in").read_text()))
    (folder / "shim.cpp").write_text(SHIM)
    parts = [source / "src" / "common" / f"{part}.cpp" for part in ("float8", "float4", "bfloat16")]
    subprocess.run(["c++", "-std=c++11", "-O2", "-ffp-contract=off", "-fPIC", "-shared",
                    f"-I{folder}", f"-I{source}/include", f"-I{source}/src", folder / "shim.cpp",
                    *parts, "-o", folder / "shim.so"], check=True)
    return ctypes.CDLL(folder / "shim.so")


def cast(function):
    def convert(x):
        x = np.ascontiguousarray(x)
        codes = np.empty(len(x), np.uint8)
        function(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(codes.ctypes.data),
                 ctypes.c_long(len(x)))
        return codes
    return convert


with tempfile.TemporaryDirectory() as name:
    library = built(pathlib.Path(os.environ["ONEDNN"]), pathlib.Path(name))
    report("oneDNN", [(format_, False, "scalar", cast(getattr(library, format_)))
                      for format_ in ("e4m3", "e5m2", "e2m1")])
