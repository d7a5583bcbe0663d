"""ml_dtypes' conversions of fp32, which are JAX's: python cast_ml_dtypes.py [HALFCHECK]"""
import ml_dtypes

from rule import report

TYPES = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
         "e4m3fnuz": ml_dtypes.float8_e4m3fnuz, "e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
         "e2m3": ml_dtypes.float6_e2m3fn, "e3m2": ml_dtypes.float6_e3m2fn,
         "e2m1": ml_dtypes.float4_e2m1fn}

report(f"ml_dtypes {ml_dtypes.__version__}",
       [(name, False, "astype", lambda x, t=dtype: x.astype(t)) for name, dtype in TYPES.items()])
