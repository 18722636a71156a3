"""A stage for the scripts of this folder: a database, the simulator, services, and a tenant with apps, matches and phones.

Several stages share one PostgreSQL, each with a database of its own, so that many cases run side by side.
"""
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
import urllib.parse

from sweep import Process, wait_for

CONTRACT = {"home": "int", "away": "int", "clock": "string"}
TYPE = "ScoreAttributes"


class Stage:
    """One database, one simulator, the services between them, and one tenant."""

    making = threading.Lock()  # PostgreSQL's roles are all databases' own: one migration at a time

    def __init__(self, cluster, name, binaries, relayed=False, flags=(), database=None, cas=()):
        self.name, self.cluster = name, cluster
        self.flags, self.environment = list(flags), {}  # of services, and of the command line
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"tl-{name}-"))
        self.folder.chmod(0o755)
        self.binaries = pathlib.Path(binaries)
        self.services, self.relay = {}, None
        self.simulator = Process(self.binaries / "apns-simulator", [], self.folder, "apns-simulator")
        self.apns = self.simulator.ready()
        self.ca_file = self.folder / "ca.pem"
        self.ca_file.write_text("".join(pathlib.Path(file).read_text() for file in (self.apns["ca_file"], *cas)))
        self.push = self.apns["production"]["push"]
        if relayed:
            self.relay = Relay(int(self.push.rpartition(":")[2]))
            self.push = f"localhost:{self.relay.port}"
        self.control = Api(self.apns["control"])
        self.key_file = self.folder / "master.key"
        self.key_file.write_bytes(os.urandom(32))
        self.key_file.chmod(0o600)
        with Stage.making:
            if database is None:
                cluster.run(
                    "createdb", "-h", cluster.folder, "-p", cluster.port, "-U", "touchline", "-T", "template0", name
                )
                database = f"postgres://touchline@127.0.0.1:{cluster.port}/{name}"
            self.database = database
            self.start(0)
        operator = json.loads(self.touchline("key", "bootstrap", "--json").stdout)["secret"]
        self.operator = Api(lambda: self.url, operator)
        self.tenant = self.operator.good("POST", "/v1/tenants", {"name": name})["tenant"]
        self.key = self.operator.good("POST", f"/v1/tenants/{self.tenant}/keys", {"role": "admin"})["secret"]
        self.api = Api(lambda: self.url, self.key)

    # Processes

    def start(self, number=0, flags=()):
        arguments = [
            "serve", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0",
            *self.apns_flags(), "--master-key-file", self.key_file, *self.flags, *flags,
        ]
        service = Process(
            self.binaries / "touchline", arguments, self.folder, f"touchline-{number}",
            {"DATABASE_URL": self.database, **self.environment},
        )
        self.services[number] = service
        service.stopped, service.url = False, "http://127.0.0.1:1"  # nobody's
        service.url = service.ready()["url"]
        return service

    def restart(self):
        """The first service again, with whatever flags and files there are now."""
        self.services[0].stop()
        self.start(0)

    def apns_flags(self):
        apns = self.apns
        return [
            "--apns-production-push", self.push, "--apns-production-manage", apns["production"]["manage"],
            "--apns-sandbox-push", apns["sandbox"]["push"], "--apns-sandbox-manage", apns["sandbox"]["manage"],
            "--apns-ca", self.ca_file,
        ]

    @property
    def url(self):
        """Of a service that runs; of the last one while none does."""
        running = [s for s in self.services.values() if s.process.poll() is None and not s.stopped]
        return (running or list(self.services.values()))[0].url

    def touchline(self, *arguments, key=None, check=True, seconds=60):
        """The command line, with the service's settings in its environment."""
        environment = {"DATABASE_URL": self.database, "TOUCHLINE_URL": self.url, **self.environment}
        if key:
            environment["TOUCHLINE_KEY"] = key
        return subprocess.run(
            [self.binaries / "touchline", *map(str, arguments)], env={**os.environ, **environment}, check=check,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=seconds,
        )

    def log(self, number=0):
        return (self.folder / f"touchline-{number}.log").read_text(errors="replace")

    def close(self, keep=False):
        for service in self.services.values():
            if service.process.poll() is None:
                service.process.send_signal(signal.SIGCONT)
                service.stop()
        if self.relay:
            self.relay.close()
        self.simulator.stop()
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)

    # The tenant

    def app(self, bundle, **settings):
        credential = self.apns["credential"]
        body = {
            "team_id": credential["team_id"], "key_id": credential["key_id"],
            "p8": pathlib.Path(credential["p8_file"]).read_text(), "frequent_updates_declared": True, **settings,
        }
        self.api.good("PUT", f"/v1/apps/{bundle}/production", body)
        self.api.good("PUT", f"/v1/apps/{bundle}/types/{TYPE}", {"content_state": CONTRACT})

    def match(self, match, bundle, **more):
        body = {
            "bundle": bundle, "type": TYPE, "kickoff_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "content_state": state(0), **more,
        }
        self.api.good("PUT", f"/v1/matches/{match}", body)

    def subscribe(self, match, count=500, seconds=60):
        """Phones on the match's channel, as soon as it is there. Returns its id."""
        path = f"/v1/matches/{match}/channel?environment=production"

        def channel():
            status, body, _ = self.api.call("GET", path)
            return body["channel_id"] if status == 200 else None

        channel = wait_for(f"{self.name}: the channel of {match}", channel, seconds, 0.1)
        self.model([{"channel": channel, "count": count}])
        return channel

    def register(self, match, tokens):
        """One activity for each token."""
        self.model([{"token": token} for token in tokens])
        lines = (
            json.dumps({"activity": token[-12:], "token": token, "environment": "production", "frequent_pushes_enabled": True})
            for token in tokens
        )
        text = self.api.text("POST", f"/v1/matches/{match}/activities", "\n".join(lines).encode() + b"\n")
        if text.count('"stored"') != len(tokens):
            raise SystemExit(f"{self.name}: not all tokens were stored: {text[:300]}")

    def model(self, phones):
        self.control.good(
            "POST", "/_sim/phones", {"environment": "production", "phones": phones, "content_state": CONTRACT}
        )

    def phones(self, channel=None):
        if channel:
            return self.control.good("GET", f"/_sim/phones?channel={quote(channel)}")["phones"]
        return self.control.good("GET", "/_sim/phones?limit=5000")["phones"]

    def faults(self, *rules):
        self.control.good("PUT", "/_sim/faults", {"rules": list(rules)})

    def post(self, match, body, seconds=60):
        """Until it is answered. Returns status, body and when (UNIX seconds)."""

        def answered():
            try:
                status, answer, _ = self.api.call("POST", f"/v1/matches/{match}/events", body)
            except (OSError, http.client.HTTPException):
                return None
            return (status, answer, time.time()) if status not in (0, 429, 503) else None

        return wait_for(f"{self.name}: the event {body['id']} is answered", answered, seconds, 0.2)


def state(number):
    return {"home": number, "away": 0, "clock": f"{number}'"}


def event(number, kind="update", **more):
    return {"id": f"{kind}-{number}", "kind": kind, "importance": "key", "sequence": number, "content_state": state(number), **more}


def quote(text):
    return urllib.parse.quote(text, safe="")


class Api:
    """JSON over HTTP/1.1, a connection a request: services come and go. `url` may be a function."""

    def __init__(self, url, key=None):
        self.url, self.key = url, key

    def request(self, method, path, body=None, seconds=20):
        url = self.url() if callable(self.url) else self.url
        connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=seconds)
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {self.key}"} if self.key else {})}
        try:
            data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
            connection.request(method, path, data, headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode(errors="replace"), answer.headers
        finally:
            connection.close()

    def call(self, method, path, body=None, seconds=20):
        """Status, body and headers."""
        status, text, headers = self.request(method, path, body, seconds)
        try:
            return status, json.loads(text) if text else None, headers
        except json.JSONDecodeError:
            return status, text, headers

    def good(self, method, path, body=None):
        status, answer, _ = self.call(method, path, body)
        if status >= 400:
            raise SystemExit(f"{method} {path}: {status} {answer}")
        return answer

    def text(self, method, path, body=None):
        status, text, _ = self.request(method, path, body)
        if status >= 400:
            raise SystemExit(f"{method} {path}: {status} {text}")
        return text


class Relay:
    """Passes bytes between a port of its own and another: to be shut, so that connections are refused as by a dead host."""

    def __init__(self, to):
        self.to = to
        self.pairs, self.lock, self.listener = set(), threading.Lock(), None
        self.port = 0
        self.open()

    def open(self):
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen(128)
        self.port, self.listener = listener.getsockname()[1], listener
        threading.Thread(target=self.accept, args=(listener,), daemon=True).start()

    def shut(self):
        """No new connection is taken, and those that are open are reset."""
        listener, self.listener = self.listener, None
        if listener:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        with self.lock:
            pairs, self.pairs = self.pairs, set()
        for pair in pairs:
            for end in pair:
                try:
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    close = shut

    def accept(self, listener):
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self.to))
            except OSError:
                near.close()
                continue
            pair = (near, far)
            with self.lock:
                self.pairs.add(pair)
            for source, sink in (pair, pair[::-1]):
                threading.Thread(target=self.pump, args=(pair, source, sink), daemon=True).start()

    def pump(self, pair, source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
        except OSError:
            pass
        for end in pair:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        with self.lock:
            if pair in self.pairs:
                self.pairs.discard(pair)
        source.close()
