"""Kills, stops and misleads ranks, and looks at how the job ends.

    lost.py MPIRUN RANKS [ROUNDS [SEED]]

MPIRUN is .ci/mpirun, or a script that calls `srun -K1 --mpi=pmix`; RANKS is the program of
ranks.c. Each scene must end within ten seconds with exit
status 2, with one line of halfcheck's that names the rank, and with none of its processes left.
"""

import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

RANKS = 4
WITHIN = 10.0
# srun ends the others by a signal, and ends with that.
BY_SRUN = (2, 128 + signal.SIGKILL, 128 + signal.SIGTERM)
AFTER_KILL = BY_SRUN if "srun" in sys.argv[1] else (2,)
SILENCE = int(os.environ.get("HALFCHECK_WATCH", "6"))


def process_state(process: int) -> str:
    """The letter that the kernel gives a process's state; empty if there is none."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def parent_of(process: int) -> int:
    """The parent of a rank is its guard. -1 if the process has ended."""
    try:
        return int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return -1


class Job:
    """A job of RANKS ranks."""

    def __init__(self, mpirun: str, program: str, *words: str, **environment: str) -> None:
        self.job = subprocess.Popen(
            [mpirun, "-n", str(RANKS), program, *words], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | environment)
        self.processes: dict[int, int] = {}

    def wait_for_ranks(self) -> None:
        """Reads which rank is which process; each says so when it has joined."""
        while len(self.processes) < RANKS:
            said = re.match(r"rank (\d+) is process (\d+)", self.job.stdout.readline())
            if not said:
                raise SystemExit(f"the ranks did not start: {self.job.communicate()[1]}")
            self.processes[int(said[1])] = int(said[2])

    def end(self) -> tuple[int, list[str], float]:
        """The exit status, the lines of halfcheck and its ranks, and how long that took."""
        start = time.monotonic()
        try:
            err = self.job.communicate(timeout=60)[1]
        except subprocess.TimeoutExpired:
            self.job.kill()
            err = "ranks: the job did not end\n" + self.job.communicate()[1]
        lines = [line for line in err.splitlines()
                 if re.match("halfcheck: |ranks: |.*Assertion", line)]
        return self.job.returncode, lines, time.monotonic() - start

    def left(self) -> list[int]:
        """Ranks that live on. They are given a moment to end."""
        for _ in range(20):
            alive = [p for p in self.processes.values() if process_state(p) not in ("", "Z")]
            if not alive:
                break
            time.sleep(0.05)
        return alive


class Scenes:
    """What can happen, and what must be said of it."""

    def __init__(self, mpirun: str, program: str, rounds: int, seed: int) -> None:
        self.mpirun, self.program, self.rounds = mpirun, program, rounds
        self.random = random.Random(seed)
        self.failed = 0
        self.longest = 0.0

    def expect(self, scene: str, job: Job, pattern: str, statuses: tuple[int, ...] = (2,)) -> None:
        """The job ends as it should, with one line that matches."""
        status, lines, seconds = job.end()
        self.longest = max(self.longest, seconds)
        left = job.left()
        if (status not in statuses or len(lines) != 1 or not re.search(pattern, lines[0])
                or seconds > WITHIN or left):
            self.failed += 1
            print(f"{scene}: status {status}, {seconds:.1f} s, left {left}, want '{pattern}':")
            print("".join(f"    {line}\n" for line in lines), end="")
        for process in left:
            os.kill(process, signal.SIGKILL)

    def lose(self, scene: str, act: Callable[[int], None], how: str,
             statuses: tuple[int, ...] = (2,), word: str = "hangs") -> None:
        """A rank is lost at some moment; act(process) does it. What the line advises depends on
        whether there is a checkpoint."""
        job = Job(self.mpirun, self.program, word)
        advice = "; the run goes on from its checkpoint with --resume" if word == "resumes" else ""
        job.wait_for_ranks()
        rank = self.random.randrange(RANKS)
        time.sleep(self.random.random() * 0.2)
        act(job.processes[rank])
        self.expect(f"{scene} (rank {rank})", job,
                    rf"^halfcheck: rank {rank} of {RANKS} \(.*, process "
                    rf"{job.processes[rank]}\) is gone \({how}\){advice}$", statuses)

    def killed(self) -> None:
        """At random moments."""
        for _ in range(self.rounds):
            for word in ("hangs", "resumes"):
                self.lose("killed", lambda process: os.kill(process, signal.SIGKILL), "signal 9",
                          word=word)

    def stopped(self) -> None:
        """It neither runs nor ends."""
        self.lose("stopped", lambda process: os.kill(process, signal.SIGSTOP), f"silent for {SILENCE} s")

    def guard_killed(self) -> None:
        """mpirun sees that its own child was killed, and ends with another status."""
        self.lose("guard killed", lambda process: os.kill(parent_of(process), signal.SIGKILL),
                  "nothing is heard of it", BY_SRUN)

    def guard_killed_first(self) -> None:
        """mpirun ends the others in any order: the first to end may be none that speaks."""
        job = Job(self.mpirun, self.program, "hangs")
        job.wait_for_ranks()
        victim = job.processes[1]
        os.kill(parent_of(victim), signal.SIGKILL)
        os.kill(parent_of(job.processes[3]), signal.SIGTERM)
        self.expect("guard killed first", job,
                    rf"^halfcheck: rank 1 of {RANKS} \(.*, process {victim}\) is gone "
                    r"\(nothing is heard of it\)$", BY_SRUN)

    def killed_after_a_request(self) -> None:
        """The rank was asked to end, and went on: its later end is a loss."""
        def ask_and_kill(process: int) -> None:
            os.kill(parent_of(process), signal.SIGTERM)
            time.sleep(0.5)
            os.kill(process, signal.SIGKILL)
        self.lose("killed after a request", ask_and_kill, "signal 9", word="stays")

    def guard_told(self) -> None:
        """Signals that ask for no end in good order, though a rank ends by them."""
        for number in (signal.SIGHUP, signal.SIGALRM):
            self.lose(f"guard told {number}",
                      lambda process, number=number: os.kill(parent_of(process), number),
                      f"signal {number:d}")

    def machine_gone(self) -> None:
        """Neither the rank nor its guard says anything, and no connection is closed."""
        def stop(process: int) -> None:
            os.kill(parent_of(process), signal.SIGSTOP)
            os.kill(process, signal.SIGSTOP)
        self.lose("machine gone", stop, "nothing is heard of it", AFTER_KILL)

    def killed_at_start(self) -> None:
        """Before or while it joins, when mpirun has started all of them: that of Open MPI 4.1.4 may
        wait for ever for a process that ends while it still starts others."""
        for _ in range(self.rounds):
            job = Job(self.mpirun, self.program, "hangs")
            children: list[int] = []
            while len(children) < RANKS and job.job.poll() is None:
                children = self.workers()
            time.sleep(self.random.random() * 0.4)
            victim = self.random.choice(self.workers() or children)
            os.kill(victim, signal.SIGKILL)
            self.expect("killed at the start", job,
                        rf"rank \d of {RANKS} \(.+, process {victim}\) is gone \(signal 9\)",
                        AFTER_KILL)

    def own(self) -> list[int]:
        """The processes of this program."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(entry / "exe") == os.path.realpath(self.program):
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def workers(self) -> list[int]:
        """The ranks: processes of this program whose parents are of it, too."""
        own = set(self.own())
        return [process for process in own if process_state(process)
                and parent_of(process) in own]

    def ports(self) -> list[int]:
        """Where guards listen."""
        sockets = set()
        for process in self.own():
            for entry in Path(f"/proc/{process}/fd").glob("*"):
                try:
                    sockets.add(os.readlink(entry))
                except OSError:
                    continue
        rows = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
        return [int(row[1].split(":")[1], 16) for row in rows
                if row[3] == "0A" and f"socket:[{row[9]}]" in sockets]

    def goes_its_own_way(self) -> None:
        """A rank that ends by itself has said why, or its guard does."""
        for how, pattern in (
                ("refuses", "^ranks: rank 1: its disk is full"),
                ("exits", rf"rank 1 of {RANKS} .* is gone \(it has ended with status 0\)"),
                ("crashes", rf"rank 1 of {RANKS} .* is gone \(signal 6\)"),
        ):
            self.expect(how, Job(self.mpirun, self.program, "leaves", how), pattern)

    def asked_to_end(self) -> None:
        """Ctrl-C, or scancel: nobody is lost, and nobody says so."""
        for number in (signal.SIGINT, signal.SIGTERM):
            for _ in range(self.rounds):
                job = Job(self.mpirun, self.program, "hangs")
                job.wait_for_ranks()
                time.sleep(self.random.random() * 0.2)
                job.job.send_signal(number)
                status, lines, _ = job.end()
                left = job.left()
                if status == 0 or lines or left:
                    self.failed += 1
                    print(f"asked to end: status {status}, left {left}: {lines}")

    def strangers_are_not_heard(self) -> None:
        """Somebody connects to the guards while they connect to each other, and says nonsense."""
        job = Job(self.mpirun, self.program, "works")
        knocked = 0
        while job.job.poll() is None:
            for port in self.ports():
                try:
                    with socket.create_connection(("127.0.0.1", port), 0.1) as stranger:
                        stranger.sendall(bytes(self.random.randrange(256) for _ in range(64)))
                        knocked += 1
                except OSError:
                    continue
        status, lines, _ = job.end()
        if status != 0 or lines:
            self.failed += 1
            print(f"strangers: status {status}: {lines}")
        if not knocked:
            print("strangers: none came in time")

    def run(self) -> int:
        """All of them."""
        for scene in (self.killed, self.killed_at_start, self.stopped, self.guard_killed,
                      self.guard_killed_first, self.killed_after_a_request, self.guard_told,
                      self.machine_gone, self.goes_its_own_way, self.asked_to_end,
                      self.strangers_are_not_heard):
            scene()
        print(f"{self.failed} failed; the longest took {self.longest:.1f} s")
        return int(self.failed > 0)


if __name__ == "__main__":
    words = sys.argv[1:]
    if subprocess.run([words[0], "-n", "1", "true"], check=False).returncode == 77:
        sys.exit(77)
    sys.exit(Scenes(words[0], words[1], int(words[2]) if len(words) > 2 else 1,
                    int(words[3]) if len(words) > 3 else 1).run())
