"""A receiver of webhooks: it believes what is signed, and lets each delivery take effect once, in one transaction with the effect.

It needs Python 3.9 or newer and nothing else; it keeps what it received in the SQLite file DATABASE.
"""

import base64
import hashlib
import hmac
import os
import sqlite3
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ["WEBHOOK_SECRET"]
DATABASE = os.environ.get("DATABASE", "received.db")
MAX_BODY = 1 << 20


def verify(headers, body: bytes, secret: str) -> bool:
    """Standard Webhooks v1. body: the request's bytes, not parsed."""
    msg_id, at, given = (headers.get(h) or "" for h in ("webhook-id", "webhook-timestamp", "webhook-signature"))
    if not msg_id or not at.isdigit() or abs(time.time() - int(at)) > 300:
        return False
    key = base64.b64decode(secret[len("whsec_"):] if secret.startswith("whsec_") else secret)
    want = hmac.new(key, f"{msg_id}.{at}.".encode() + body, hashlib.sha256).digest()
    want = "v1," + base64.b64encode(want).decode()
    return any(hmac.compare_digest(s.encode(), want.encode()) for s in given.split(" "))


def connect() -> sqlite3.Connection:
    return sqlite3.connect(DATABASE, timeout=10, isolation_level=None)


def take(key: str, event_id: str, body: bytes) -> None:
    db = connect()
    try:
        db.execute("BEGIN IMMEDIATE")
        if db.execute("INSERT OR IGNORE INTO deliveries_done (key) VALUES (?)", (key,)).rowcount == 1:
            db.execute("INSERT INTO received (event_id, payload) VALUES (?, ?)", (event_id, body.decode()))
        db.execute("COMMIT")
    finally:
        db.close()  # what was not committed is undone


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 20

    def do_POST(self):
        try:
            size = int(self.headers.get("Content-Length") or 0)
            if not 0 <= size <= MAX_BODY:
                self.close_connection = True
                return self.end(413)
            body = self.rfile.read(size)
            if not verify(self.headers, body, SECRET):
                return self.end(401)
            event_id = self.headers["webhook-id"]
            take(self.headers.get("idempotency-key") or event_id, event_id, body)
        except Exception as err:
            self.log_error("%r", err)
            return self.end(503)  # undone: the sender tries again
        self.end(204)

    def end(self, status: int):
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


if __name__ == "__main__":
    db = connect()
    db.execute("CREATE TABLE IF NOT EXISTS received (event_id TEXT NOT NULL, payload TEXT NOT NULL)")
    db.execute("CREATE TABLE IF NOT EXISTS deliveries_done (key TEXT PRIMARY KEY)")
    db.close()
    host, _, port = os.environ.get("LISTEN", "127.0.0.1:8099").rpartition(":")
    server = ThreadingHTTPServer((host, int(port)), Receiver)
    print(f"listening on http://{host}:{server.server_address[1]}", flush=True)
    server.serve_forever()
