#!/usr/bin/env python3
"""Counts what the sender pool asks the allocator for, by push: exits 1 above --most.

    swift build -c release --product loadtest && loadtest/allocations.py

Runs `loadtest pool` twice, the second time with three times as many pushes, with allocations.c preloaded. What the pool's
threads ask for more the second time is by push; what they ask for once falls out.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def compiler():
    """The C compiler, or the one that comes with Swift."""
    for name in ("cc", "clang", "gcc"):
        if path := shutil.which(name):
            return path
    swift = shutil.which("swift") or "/opt/swift/usr/bin/swift"
    return str(pathlib.Path(swift).resolve().parent / "clang")


def run(program, library, pushes, connections):
    """The allocations of the pool's threads in one run."""
    with tempfile.TemporaryDirectory(prefix="tl-allocations-") as folder:
        environment = os.environ | {"LD_PRELOAD": str(library), "ALLOCATIONS": folder}
        command = [program, "pool", "--connections", str(connections), "--pushes", str(pushes)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        lines = [line.split(None, 1) for file in pathlib.Path(folder).iterdir() for line in file.read_text().splitlines()]
        return sum(int(line[0]) for line in lines if len(line) == 2 and line[1].startswith("pool-"))


def main():
    """Measures, prints one line, and judges."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loadtest", default=str(HERE.parent / ".build/release/loadtest"), help="the executable")
    parser.add_argument("--pushes", type=int, default=200_000, help="of the first run; the second has three times as many")
    parser.add_argument("--connections", type=int, default=1)
    parser.add_argument("--most", type=float, default=0.5, help="allocations a push above which the exit code is 1")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tl-allocations-") as folder:
        library = pathlib.Path(folder) / "allocations.so"
        build = [compiler(), "-O2", "-shared", "-fPIC", "-o", str(library), str(HERE / "allocations.c")]
        subprocess.run(build, check=True)
        few, many = (
            run(options.loadtest, library, count, options.connections) for count in (options.pushes, 3 * options.pushes)
        )
    a_push = (many - few) / (2 * options.pushes)
    print(f"{a_push:.3f} allocations a push on the pool's threads ({few} for {options.pushes}, {many} for {3 * options.pushes})")
    sys.exit(a_push > options.most)


if __name__ == "__main__":
    main()
