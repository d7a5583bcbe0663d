"""ONNX Runtime's Cast of fp32 on the CPU: python cast_onnxruntime.py [HALFCHECK]"""
import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

from rule import report

TYPES = {"e4m3": TensorProto.FLOAT8E4M3FN, "e5m2": TensorProto.FLOAT8E5M2,
         "e4m3fnuz": TensorProto.FLOAT8E4M3FNUZ, "e5m2fnuz": TensorProto.FLOAT8E5M2FNUZ}


def cast(kind, saturate):
    node = helper.make_node("Cast", ["x"], ["y"], to=kind, saturate=int(saturate))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])
    y = helper.make_tensor_value_info("y", kind, ["n"])
    model = helper.make_model(helper.make_graph([node], "cast", [x], [y]), ir_version=10,
                              opset_imports=[helper.make_opsetid("", 21)])
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options,
                                   providers=["CPUExecutionProvider"])

    def convert(values):
        codes = np.empty(len(values), np.uint8)
        binding = session.io_binding()
        binding.bind_cpu_input("x", np.ascontiguousarray(values))
        binding.bind_output("y", "cpu", 0, kind, codes.shape, codes.ctypes.data)
        session.run_with_iobinding(binding)
        return codes
    return convert


report(f"onnxruntime {ort.__version__}",
       [(name, saturate, "Cast", cast(kind, saturate)) for name, kind in TYPES.items()
        for saturate in (True, False)])
