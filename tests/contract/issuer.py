"""Token issuers for the identity suite: real keys, and real HTTP servers that publish them and count who reads them."""

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey


def rsa_key(bits: int = 2048) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, bits)


def ec_key(curve: ec.EllipticCurve | None = None) -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(curve or ec.SECP256R1())


def jwk(key: PrivateKey, kid: str | None, **more: object) -> dict[str, object]:
    """The public half as an issuer publishes it."""
    maker = RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else ECAlgorithm
    public = maker.to_jwk(key.public_key(), as_dict=True)
    public.pop("key_ops", None)
    named = {} if kid is None else {"kid": kid}
    return {**public, **named, **more}


def pem(key: PrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def sign(claims: dict[str, object], key: PrivateKey | str, kid: str | None = None, **headers: object) -> str:
    algorithm = "HS256" if isinstance(key, str) else "RS256" if isinstance(key, rsa.RSAPrivateKey) else "ES256"
    named = {} if kid is None else {"kid": kid}
    return jwt.encode(claims, key, algorithm, headers={**named, **headers})


def by_hand(header: dict[str, object], claims: dict[str, object] | str, secret: bytes | None = None) -> str:
    """A token that no library would make: HMAC by `secret`, or no signature at all."""
    body = claims if isinstance(claims, str) else json.dumps(claims)
    signed = f"{_base64(json.dumps(header).encode())}.{_base64(body.encode())}"
    signature = b"" if secret is None else hmac.digest(secret, signed.encode(), hashlib.sha256)
    return f"{signed}.{_base64(signature)}"


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@dataclass
class Issuer:
    """Publishes `keys` (or `body`) at `url`. While `gate` is closed an answer waits after its first byte, or drips: one
    byte after the other, of its headers or of its body.
    """

    keys: list[object] = field(default_factory=list)
    body: bytes | None = None
    status: int = 200
    location: str = ""
    drips: str = ""
    readings: int = 0
    url: str = ""
    gate: threading.Event = field(default_factory=threading.Event)
    arrived: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        with self.lock:
            self.readings += 1
        if self.drips == "headers":
            handler.wfile.write(b"HTTP/1.0 200 OK\r\nX-Slow: ")
            self.drip(handler)
            return
        body = json.dumps({"keys": self.keys}).encode() if self.body is None else self.body
        handler.send_response(self.status)
        handler.send_header("Content-Length", str(len(body)))
        if self.location:
            handler.send_header("Location", self.location)
        handler.end_headers()
        handler.wfile.write(body[:1])
        handler.wfile.flush()
        self.arrived.set()
        if self.drips == "body":
            self.drip(handler)
        self.gate.wait()
        handler.wfile.write(body[1:])

    def drip(self, handler: BaseHTTPRequestHandler) -> None:
        while not self.gate.wait(0.01):
            handler.wfile.write(b" ")
            handler.wfile.flush()


@contextmanager
def published(*keys: object) -> Iterator[Issuer]:
    """An issuer that answers on a port of this machine."""
    issuer = Issuer(list(keys))
    issuer.gate.set()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            try:
                issuer.answer(self)
            except ConnectionError:  # the reader gave up first, as some tests want
                self.close_connection = True

        def log_message(self, *args: object) -> None:
            """A test's output is its own."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    issuer.url = f"http://127.0.0.1:{server.server_port}/keys"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield issuer
    finally:
        issuer.gate.set()
        server.shutdown()
        thread.join()
        server.server_close()
