"""OpenVINO's conversions of fp32 on the CPU: python cast_openvino.py [HALFCHECK]

Each is done twice: by the reference that folds constants (evaluate) and by the CPU's plug-in
(compiled).
"""
import numpy as np
import openvino as ov
import openvino.opset13 as opset

from rule import report

TYPES = {"e4m3": ov.Type.f8e4m3, "e5m2": ov.Type.f8e5m2, "e2m1": ov.Type.f4e2m1}


def graph(kind):
    x = opset.parameter([-1], ov.Type.f32)
    return ov.Model([opset.result(opset.convert(x, kind))], [x])


def unpacked(tensor, kind, size):
    """A code a byte. Codes of four bits lie two a byte, the first in the low half."""
    data = np.asarray(tensor.data).view(np.uint8).ravel()
    if kind == ov.Type.f4e2m1:
        data = np.stack([data & 15, data >> 4], 1).ravel()
    return data[:size]


def evaluated(kind):
    model = graph(kind)

    def convert(x):
        out = ov.Tensor(kind, ov.Shape([len(x)]))
        assert model.evaluate([out], [ov.Tensor(np.ascontiguousarray(x))])
        return unpacked(out, kind, len(x))
    return convert


def compiled(kind):
    """What the CPU's plug-in makes of it, or None where it has no such conversion."""
    try:
        model = ov.Core().compile_model(graph(kind), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    except RuntimeError as error:
        print(f"# compiled {kind}: {str(error).splitlines()[-1]}")
        return None
    return lambda x: unpacked(_infer(model, x), kind, len(x))


def _infer(model, x):
    request = model.create_infer_request()
    request.infer([ov.Tensor(np.ascontiguousarray(x))], share_inputs=True)
    return request.get_output_tensor(0)


rows = [(name, False, "evaluate", evaluated(kind)) for name, kind in TYPES.items()]
rows += [(name, False, "compiled", compiled(kind)) for name, kind in TYPES.items()]
report(f"openvino {ov.__version__}", [row for row in rows if row[3]])
