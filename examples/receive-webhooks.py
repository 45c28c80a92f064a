"""Receives webhooks: checks their signatures (https://www.standardwebhooks.com), prints events."""
import base64, contextlib, hashlib, hmac, json, os, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# The answer of `POST /webhooks` has the secret: `npm run example` subscribes and sets it.
if not (os.environ.get("WEBHOOK_SECRET") and os.environ.get("LISTEN_PORT")):
    sys.exit("Set WEBHOOK_SECRET, which POST /webhooks answers, and LISTEN_PORT of its url.")
KEY = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))


def is_genuine(headers, body: bytes) -> bool:
    sent = headers.get("webhook-timestamp", "")
    if not sent.isdecimal() or abs(time.time() - int(sent)) > 300:
        return False
    signed = f"{headers.get('webhook-id')}.{sent}.".encode() + body
    mac = base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest())
    signatures = headers.get("webhook-signature", "").encode().split(b" ")
    return any(hmac.compare_digest(b"v1," + mac, one) for one in signatures)


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        genuine = is_genuine(self.headers, body)
        if genuine:
            event = json.loads(body)  # an id may come twice: dedupe by it
            print(f"{event['type']} {event['id']}\n", end="", flush=True)
        self.send_response(204 if genuine else 400)
        self.end_headers()

    def log_message(self, *_): ...


try:
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ["LISTEN_PORT"])), Receiver)
except (OSError, ValueError, OverflowError) as error:
    sys.exit(f"LISTEN_PORT: {error}")
with contextlib.suppress(KeyboardInterrupt):
    server.serve_forever()
