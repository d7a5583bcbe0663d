"""Checks that a notebook is true: notebook.py HALFCHECK NOTEBOOK [--write]

Executes all cells in their order. What a cell prints must be what is kept in the file, and where a
picture is kept it must draw one. Pictures are not compared: other versions of matplotlib draw other
pixels. Two tags of cells change that:

  varies   what it prints is not compared: it depends on the machine
  torch    it is left out where there is no PyTorch

--write keeps what the cells print and draw now, to be read with git diff.
"""
import copy
import difflib
import importlib.util
import json
import os
import re
import sys
import tempfile

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SECONDS = 60  # of one cell
KILOBYTES = 300


def tags(cell):
    return cell.metadata.get('tags', [])


def printed(cell):
    """The lines of what a cell prints, and of its value."""
    texts = [output.text if output.output_type == 'stream' else output.data.get('text/plain', '')
             for output in cell.outputs if output.output_type in ('stream', 'execute_result')]
    return ''.join(texts).splitlines()


def pictures(cell):
    return sum('image/png' in output.get('data', {}) for output in cell.outputs)


def prepared(folder, program):
    """Makes the folder in which the cells run, with nothing of this user's settings, and says so in
    the environment. The program is found as halfcheck, as if it were installed."""
    kernel = os.path.join(folder, 'jupyter', 'kernels', 'this')
    for path in (kernel, os.path.join(folder, 'bin'), os.path.join(folder, 'work')):
        os.makedirs(path)
    with open(os.path.join(kernel, 'kernel.json'), 'w', encoding='utf-8') as file:
        json.dump({'argv': [sys.executable, '-m', 'ipykernel_launcher', '-f', '{connection_file}'],
                   'display_name': 'Python 3', 'language': 'python'}, file)
    os.symlink(program, os.path.join(folder, 'bin', 'halfcheck'))
    os.environ.update({
        'HALFCHECK_PROGRAM': program, 'PYTHONPATH': os.path.join(TOP, 'python'),
        'PATH': os.path.join(folder, 'bin') + os.pathsep + os.environ['PATH'],
        'HOME': folder, 'TMPDIR': folder, 'JUPYTER_PATH': os.path.join(folder, 'jupyter'),
        'OMP_WAIT_POLICY': 'passive'})
    for name in ('JUPYTER_CONFIG_DIR', 'JUPYTER_DATA_DIR', 'JUPYTER_RUNTIME_DIR', 'IPYTHONDIR',
                 'MPLCONFIGDIR'):
        os.environ[name] = os.path.join(folder, name.lower())
    return os.path.join(folder, 'work')


def joined(outputs):
    """The outputs, with what comes in pieces as one text."""
    whole = []
    for output in outputs:
        if whole and output.output_type == 'stream' == whole[-1].output_type and \
                output.name == whole[-1].name:
            whole[-1].text += output.text
        else:
            whole.append(output)
    return whole


def execute(notebook, program):
    """Puts into the notebook what its cells print now."""
    with tempfile.TemporaryDirectory(prefix='halfcheck-') as folder:
        work = prepared(folder, program)
        NotebookClient(notebook, timeout=SECONDS, kernel_name='this', record_timing=False,
                       resources={'metadata': {'path': work}}).execute()
        for cell in notebook.cells:
            if cell.cell_type == 'code':
                cell.outputs = joined(cell.outputs)
                for output in cell.outputs:
                    if 'text' in output:  # names of temporary files are never the same
                        output.text = re.sub(re.escape(folder) + r'[\w/.-]*/', '.../', output.text)


def differences(kept, got):
    """What the cells of one kind print that is not in the other."""
    found = []
    for number, (old, new) in enumerate(zip(kept.cells, got.cells), 1):
        if old.cell_type != 'code':
            continue
        if 'varies' not in tags(old):
            found += difflib.unified_diff(printed(old), printed(new), f'cell {number}, as kept',
                                          f'cell {number}, now', lineterm='')
        if pictures(old) != pictures(new):
            found.append(f'cell {number} draws {pictures(new)} pictures, and {pictures(old)} kept')
    return found


def main(arguments):
    program, path = arguments[:2]
    kept = nbformat.read(path, as_version=4)
    nbformat.validate(kept)
    if importlib.util.find_spec('torch') is None:
        print('left out: the cells of PyTorch, which is not here')
        kept.cells = [cell for cell in kept.cells if 'torch' not in tags(cell)]
        if '--write' in arguments:
            return 'without PyTorch nothing is written'
    got = copy.deepcopy(kept)
    try:
        execute(got, program)
    except CellExecutionError as error:
        return f'a cell failed:\n{error}'
    if '--write' in arguments:
        got.metadata.pop('language_info', None)
        nbformat.write(got, path)
        kept = got
    found = differences(kept, got)
    if os.path.getsize(path) > KILOBYTES * 1024:
        found.append(f'{path} has more than {KILOBYTES} KiB')
    for line in found:
        print(line)
    cells = [cell for cell in got.cells if cell.cell_type == 'code']
    print(f'{len(cells)} cells executed, {sum(map(pictures, cells))} pictures')
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
