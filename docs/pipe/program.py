"""A program as a backend of halfcheck, with Python's standard library alone: fp32's sum and product.

halfcheck run 'op/add*' 'op/mul*' --backend 'pipe:python3 program.py'
"""
import array
import json
import operator
import sys

OPS = {'add': operator.add, 'mul': operator.mul}

read, write = sys.stdin.buffer, sys.stdout.buffer
sys.stdout = sys.stderr  # what is printed by mistake goes there

read.readline()  # halfcheck's version, and where shared memory is: this program maps none
greeting = {'pipe': 1, 'name': 'python', 'title': 'sums and products of Python',
            'ops': {op: {'formats': ['fp32']} for op in OPS}}
write.write(json.dumps(greeting).encode() + b'\n')
write.flush()
for line in read:
    call = json.loads(line)
    # All inputs are read before anything is answered, in the order of the line.
    x, y = (array.array('f', read.read(t['bytes'])) for t in call['in'].values())
    # Numbers of Python are fp64, in which these ops lose nothing that fp32's rounding could see.
    out = array.array('f', map(OPS[call['op']], x, y))
    write.write(b'ok\n' + out.tobytes())
    write.flush()
