"""A throw-away PostgreSQL for the scripts of this folder: with the disk's real costs, and killed on demand."""
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile
import time


def binary(name):
    """A program of the newest PostgreSQL that is installed."""
    folders = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: int(p.parent.name))
    for folder in reversed(folders):
        if (folder / name).exists():
            return str(folder / name)
    return shutil.which(name) or name


class Cluster:
    """A server of its own on a unix socket and a free port, its files in a temporary folder."""

    def __init__(self, port=0, settings=(), base=None, clock=None, parent=None, wal=None):
        """`parent`: where its folder is made; `wal`: a folder for the log of writes, apart from the data."""
        self.clock = clock
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tl-pg-", dir=parent))
        self.folder.chmod(0o755)
        self.data = self.folder / "data"
        self.port = port or free_port()
        # PostgreSQL refuses to run as root.
        self.user = pwd.getpwnam("postgres") if os.geteuid() == 0 else None
        if self.user:
            for folder in filter(None, (self.folder, wal)):
                os.chown(folder, self.user.pw_uid, self.user.pw_gid)
        if base:
            self.run("pg_basebackup", "-D", self.data, "-R", "-X", "stream", "-d", base)
        else:
            apart = ["-X", wal / "log"] if wal else []
            self.run(
                "initdb", "-D", self.data, "-A", "trust", "-U", "touchline", "--no-sync", "-E", "UTF8", "--locale=C", *apart
            )
        with open(self.data / "postgresql.auto.conf", "a") as file:
            for setting in (
                f"port = {self.port}",
                f"unix_socket_directories = '{self.folder}'",
                "listen_addresses = '127.0.0.1'",
                "max_connections = 200",
                "shared_buffers = '256MB'",
                "max_wal_size = '2GB'",
                *settings,
            ):
                file.write(setting + "\n")
        self.start()
        if not base:
            self.run("createdb", "-h", self.folder, "-p", str(self.port), "-U", "touchline", "touchline")

    @property
    def url(self):
        return f"postgres://touchline@127.0.0.1:{self.port}/touchline"

    def run(self, program, *arguments, environment=None):
        return subprocess.run(
            [binary(program), *map(str, arguments)],
            check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/", **self.identity(),
            env={**os.environ, **(environment or {})},
        ).stdout

    def identity(self):
        return {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []} if self.user else {}

    def start(self):
        environment = self.clock.environment if self.clock else None
        self.run("pg_ctl", "-D", self.data, "-w", "-t", "60", "-l", self.folder / "log", "start", environment=environment)

    def stop(self, mode="fast"):
        self.run("pg_ctl", "-D", self.data, "-w", "-t", "60", "-m", mode, "stop")

    def promote(self):
        self.run("pg_ctl", "-D", self.data, "-w", "-t", "60", "promote")

    def postmaster(self):
        return int((self.data / "postmaster.pid").read_text().split()[0])

    def kill(self):
        """As if the machine had lost it: no checkpoint, no good-bye."""
        pid = self.postmaster()
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for process in [pid, *map(int, children)]:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        while pathlib.Path(f"/proc/{pid}").exists():
            time.sleep(0.01)

    def query(self, sql):
        """Rows as lists of texts."""
        text = self.run(
            "psql", "-h", self.folder, "-p", self.port, "-U", "touchline", "-d", "touchline",
            "-X", "-q", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-c", sql,
        )
        return [line.split("\t") for line in text.splitlines()]

    def cpu_seconds(self):
        """Of the server and all its processes, those that have ended included."""
        ticks = 0
        pid = self.postmaster()
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for process in [pid, *children]:
            try:
                stat = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            except FileNotFoundError:
                continue
            ticks += int(stat[11]) + int(stat[12])
            if process == pid:
                ticks += int(stat[13]) + int(stat[14])
        return ticks / os.sysconf("SC_CLK_TCK")

    def remove(self):
        try:
            self.stop("immediate")
        except (subprocess.CalledProcessError, FileNotFoundError):
            pass
        shutil.rmtree(self.folder, ignore_errors=True)


class Clock:
    """What a server takes for the time: this machine's, and so many seconds more. Debian's package is `faketime`."""

    def __init__(self, seconds=0):
        library = next(pathlib.Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
        if not library:
            raise SystemExit("this needs libfaketime: apt-get install faketime")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tl-clock-"))
        self.folder.chmod(0o755)
        self.file = self.folder / "offset"
        self.environment = {
            "LD_PRELOAD": str(library), "FAKETIME_TIMESTAMP_FILE": str(self.file), "FAKETIME_NO_CACHE": "1",
            # What measures how long something takes goes on evenly, as it does when a clock is set.
            "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1",
        }
        self.set(seconds)

    def set(self, seconds):
        new = self.folder / "new"
        new.write_text(f"{seconds:+d}\n")
        new.chmod(0o644)
        new.rename(self.file)

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def free_port():
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
