"""The other end of the pipe: a halfcheck in a few lines, for the protocol of docs/pipe.md."""

import json
import os
import threading

import numpy as np

from halfcheck.formats import dtype_of, name_of

ADAMW = {"weight_decay": (0.01).hex(), "beta2": (0.99).hex(), "eps": (1e-8).hex(),
         "eps_inside": False, "order": "ours", "arithmetic": "fp32", "stochastic": False,
         "seed": "0x0", "first": 0}


class Fake:
    """Talks with a Program that runs in a thread."""

    def __init__(self, program, shared=None):
        reader, self._to = os.pipe()
        self._from, writer = os.pipe()
        self.thread = threading.Thread(target=program.run, args=(reader, writer))
        self.thread.start()
        self._source = os.fdopen(self._from, "rb")
        opening = {"halfcheck": "0.2.0", "pipe": 1}
        if shared is not None:
            opening["shared_path"] = f"/proc/self/fd/{shared}"
        self._shared = shared
        self.send(json.dumps(opening).encode() + b"\n")
        self.greeting = json.loads(self._source.readline())
        self.calls = 0

    def send(self, data):
        os.write(self._to, data)

    def call(self, op, inputs, outputs, params=None):
        """The answer to a call: a line, or the outputs by slot. outputs are {slot: (format,
        shape)}."""
        self.calls += 1
        line = {"call": self.calls, "op": op, "in": {}, "out": {}, "params": params or {}}
        for slot, array in inputs.items():
            line["in"][slot] = {"format": name_of(array.dtype), "shape": list(array.shape),
                                "bytes": array.nbytes}
        for slot, (name, shape) in outputs.items():
            line["out"][slot] = {"format": name, "shape": list(shape),
                                 "bytes": int(np.prod(shape)) * dtype_of(name).itemsize}
        data = b"".join(array.tobytes() for array in inputs.values())
        if self._shared is not None:
            data = self._share(line, inputs)
        self.send(json.dumps(line).encode() + b"\n" + data)
        answer = self._source.readline().decode().rstrip("\n")
        if answer != "ok":
            return answer
        return {slot: self._result(tensor) for slot, tensor in line["out"].items()}

    def _share(self, line, inputs):
        at = 0
        for tensor in (*line["in"].values(), *line["out"].values()):
            tensor["at"] = at
            at += -(-tensor["bytes"] // 64) * 64
        os.ftruncate(self._shared, max(at, os.fstat(self._shared).st_size))
        line["shared"] = os.fstat(self._shared).st_size
        for slot, array in inputs.items():
            os.pwrite(self._shared, array.tobytes(), line["in"][slot]["at"])
        return b""

    def _result(self, tensor):
        count = tensor["bytes"]
        data = os.pread(self._shared, count, tensor["at"]) if self._shared is not None else \
            self._source.read(count)
        return np.frombuffer(data, dtype_of(tensor["format"])).reshape(tensor["shape"])

    def close(self):
        """The end of the conversation."""
        os.close(self._to)
        self.thread.join()
        self._source.close()


def adamw_call(n=5, g=0.5, found_inf=0):
    """Inputs and outputs of a call of adamw in bf16."""
    inputs = {"w": np.ones(n, dtype_of("bf16")), "g": np.full(n, g, dtype_of("bf16")),
              "m": np.zeros(n, np.float32), "v": np.zeros(n, np.float32),
              "hyper": np.array([1e-2, 0.9, 1], np.float32),
              "found_inf": np.array([found_inf], np.float32)}
    return inputs, {"new_w": ("bf16", [n]), "new_m": ("fp32", [n]), "new_v": ("fp32", [n])}
