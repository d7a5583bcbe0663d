"""The examples of a page: runs them and compares what they print. docs.py has the rules."""
import difflib
import json
import os
import re
import subprocess
import tempfile

from docs_pages import TOP, pattern, text_of

SECONDS = 600


def examples(page, first, end):
    """Of a console block: (line, command, what it prints, the lines where that stands)."""
    found, i = [], first
    while i < end:
        if not page.lines[i].startswith('$ '):
            page.error(i + 1, 'this line stands before any command')
            return found
        start, command = i, page.lines[i][2:]
        while command.endswith('\\'):
            i += 1
            command += '\n' + page.lines[i]
        i += 1
        output = i
        while i < end and not page.lines[i].startswith('$ '):
            i += 1
        found.append((start + 1, command, page.lines[output:i], output, i))
    return found


def extended(program, additions, folder):
    """Links the program anew, with more files, which register as CMake would register them."""
    build, objects = os.path.dirname(program), []
    compiled = {os.path.relpath(entry['file'], TOP): entry['command']
                for entry in json.loads(text_of('compile_commands.json', build))}

    def compile_as_registry(root, path, number):
        command = re.sub(r' -o .*', '', compiled[root + '/registry.c'])
        command = command.replace(' -', f' -I{folder}/{root} -', 1)  # before the list of the build
        objects.append(f'{folder}/{number}.o')
        subprocess.run(f'{command} -o {objects[-1]} -c {path}', shell=True, cwd=build, check=True)

    for number, (path, text) in enumerate(additions):
        root = path.split('/')[0]
        prefix = {'cases': 'hc_cases', 'kernels': 'hc_backend'}[root]
        symbol = re.sub(r'[/-]', '_', re.sub(r'/backend$', '', path[len(root) + 1:-len('.c')]))
        listed = f'{root}/{prefix}_list.h'
        before = folder if os.path.exists(f'{folder}/{listed}') else f'{build}/registry'
        lines = text_of(listed, before)
        lines = re.sub(rf'(extern [\w ]* ){prefix}_\w+;', rf'\1{prefix}_{symbol};\n\g<0>', lines, 1)
        lines = lines.replace('#define HC_LIST', f'#define HC_LIST &{prefix}_{symbol},', 1)
        for name, content in ((listed, lines), (path, text)):
            os.makedirs(os.path.dirname(f'{folder}/{name}'), exist_ok=True)
            with open(f'{folder}/{name}', 'w', encoding='utf-8') as file:
                file.write(content)
        compile_as_registry(root, f'{folder}/{path}', number)
    for root in {path.split('/')[0] for path, _ in additions}:
        compile_as_registry(root, f'{TOP}/{root}/registry.c', root)
    link = subprocess.run(['ninja', '-t', 'commands', 'halfcheck'], cwd=build, check=True,
                          stdout=subprocess.PIPE, text=True).stdout.rstrip().split('\n')[-1]
    link = link.replace(' -o halfcheck ', f' -o {folder}/halfcheck {" ".join(objects)} ')
    subprocess.run(link, shell=True, cwd=build, check=True)
    return f'{folder}/halfcheck'


def renewed(want, got):
    """The lines of `want` as `got` has them now; those with wildcards that still fit stay."""
    if not any('...' in line for line in want):
        return got
    lines, at = [], 0
    for line in want:
        if line.strip() == '...':
            lines.append(line)
            continue
        fits = [i for i in range(at, len(got)) if re.fullmatch(pattern([line]), got[i] + '\n')]
        if fits:
            lines.append(line)
            at = fits[0] + 1
            continue
        near = difflib.get_close_matches(line, got[at:], 1, 0.5)
        if near:
            lines.append(near[0])
            at = got.index(near[0], at) + 1
    return lines or got


def run(page, program, write, seconds=SECONDS):
    """Runs the examples of a page; returns how many there are."""
    count, new = 0, []
    additions = [(argument, '\n'.join(page.lines[first:end]) + '\n')
                 for mark, argument, _, first, end in page.blocks if mark == 'add']
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as built:
        if additions:
            try:
                program = extended(program, additions, built)
            except (OSError, KeyError, subprocess.CalledProcessError) as error:
                page.error(1, f'its files cannot be built: {error}')
                return 0
        for name in os.listdir(TOP):
            if name not in ('hc', 'out', 'build', '.git'):
                os.symlink(os.path.join(TOP, name), os.path.join(folder, name))
        os.symlink(program, os.path.join(folder, 'hc'))
        os.mkdir(os.path.join(folder, 'build'))
        os.symlink(os.path.dirname(program), os.path.join(folder, 'build', 'release'))
        # As on a machine without a GPU, whatever this one is.
        environment = dict(os.environ, LC_ALL='C', HALFCHECK_PROGRESS='0',
                           OMP_WAIT_POLICY='passive', HALFCHECK_CUDA_PLUGIN='none',
                           HALFCHECK_PROGRAM=program, TMPDIR=built,
                           PATH=os.path.dirname(program) + ':' + os.environ['PATH'])
        # mpirun starts ranks as any user, and as many as a page likes.
        environment.update(OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1',
                           OMPI_MCA_rmaps_base_oversubscribe='1',
                           OMPI_MCA_hwloc_base_binding_policy='none')
        # The same for Open MPI 5. Ranks of one machine need no network.
        environment.update(PRTE_MCA_rmaps_default_mapping_policy=':oversubscribe',
                           PRTE_MCA_hwloc_default_binding_policy='none', OMPI_MCA_btl='^tcp')
        for mark, argument, language, first, end in page.blocks:
            if mark == 'file':
                with open(os.path.join(folder, argument), 'w', encoding='utf-8') as file:
                    file.write('\n'.join(page.lines[first:end]) + '\n')
            if mark is not None or language != 'console':
                continue
            for line, command, want, start, stop in examples(page, first, end):
                count += 1
                if want and not ''.join(want).replace('.', '').strip():
                    page.error(line, f'$ {command}: wildcards alone compare nothing')
                ended = True
                try:
                    ran = subprocess.run(['sh', '-c', command], cwd=folder, env=environment,
                                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                         stderr=subprocess.STDOUT, timeout=seconds, check=False)
                    got = ran.stdout.decode('utf-8', 'replace')
                    if ran.returncode < 0 or ran.returncode >= 128:
                        got += f'ended by a signal, status {ran.returncode}\n'
                        ended = False
                except subprocess.TimeoutExpired:
                    ended = False
                    got = f'no end after {seconds} s\n'
                got = '\n'.join(text.rstrip() for text in got.split('\n'))
                if not re.fullmatch(pattern(want), got):
                    page.error(line, f'$ {command}\nwant:\n' + '\n'.join(want) + f'\ngot:\n{got}')
                    if write and not ended:  # what it would have printed is not known
                        page.errors[-1] += 'not written: the page keeps what it says\n'
                        continue
                    new.append((start, stop, renewed(want, got.rstrip('\n').split('\n'))))
    if write and new:
        for start, stop, lines in reversed(new):
            page.lines[start:stop] = lines
        with open(os.path.join(TOP, page.name), 'w', encoding='utf-8') as file:
            file.write('\n'.join(page.lines))
    return count
