import contextlib, hashlib, json, os, pathlib, sys, threading, time
import urllib.error, urllib.request
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

SOURCES = {
    "AGENT_IDENTIFIER": "GET /registry shows the identifier",
    "SERVICE_URL": "npm start prints the URL",
    "SERVICE_TOKEN": "POST /api-key answers the key",
    "LISTEN_PORT": "the port of the agent's apiBaseUrl",
}
for name, source in SOURCES.items():
    if not os.environ.get(name):
        sys.exit(f"{name} is not set: {source}")
AGENT, SERVICE, TOKEN, PORT = (os.environ[name] for name in SOURCES)
RESULTS = pathlib.Path(__file__).with_name("results")  # a file for each payment; in production: a table
RESULTS.mkdir(exist_ok=True)
DUE = {"filterOnChainState": "FundsLocked", "filterRequestedAction": "WaitingForExternalAction"}
PAID = urlencode({"network": "Preprod", "limit": 100, "filterAgentIdentifier": AGENT, **DUE})

class Refused(Exception):
    """The buyer's input is wrong."""

def call(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"token": TOKEN, "content-type": "application/json"}
    request = urllib.request.Request(f"{SERVICE}/api/v1{path}", data, headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)["data"]
    except urllib.error.HTTPError as error:
        raise (Refused if error.code == 400 else RuntimeError)(error.read().decode()) from None
    except OSError as error:
        raise RuntimeError(f"No service answers at {SERVICE}: {getattr(error, 'reason', error)}") from None

def sha256(job, text):
    return hashlib.sha256(f"{job};{text}".encode()).hexdigest()

def at(minutes):
    return (datetime.now(timezone.utc) + timedelta(minutes=minutes)).isoformat()

def quote(job, input):
    if not isinstance(input, dict) or list(input) != ["text"] or not isinstance(input["text"], str):
        raise Refused("input_data: must be one field, `text`, with a text")
    canonical = json.dumps(input, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    # Short, to see a payout today. In production, give both sides hours: `unlockTime` is optional.
    times = {"payByTime": at(10), "submitResultTime": at(25), "unlockTime": at(41)}
    terms = {"network": "Preprod", "agentIdentifier": AGENT, **times}
    hashed = {"identifierFromPurchaser": job, "inputHash": sha256(job, canonical)}
    answer = call("/payment", {**terms, **hashed, "metadata": json.dumps({"job": job, "input": input})})
    return {name: value for name, value in answer.items() if name != "metadata"} | {"job_id": answer["id"]}

def result_of(id):
    file = RESULTS / id
    return file.read_bytes().decode() if id.isalnum() and len(id) < 64 and file.exists() else None

def work(payment):
    order = json.loads(payment["metadata"])
    id, result = payment["id"], result_of(payment["id"])
    if result is None:
        result = order["input"]["text"].upper()  # the work
        part = RESULTS / f"{id}.part"
        part.write_bytes(result.encode())
        part.replace(RESULTS / id)  # a whole file, before its hash is submitted
    escaped = json.dumps(result, ensure_ascii=False)[1:-1]
    body = {"network": "Preprod", "blockchainIdentifier": payment["blockchainIdentifier"]}
    call("/payment/submit-result", {**body, "submitResultHash": sha256(order["job"], escaped)})

class Agent(BaseHTTPRequestHandler):
    def do_POST(self):
        try:
            job = json.loads(self.rfile.read(int(self.headers["content-length"])))
            self.answer(200, json.dumps(quote(job["identifier_from_purchaser"], job["input_data"])))
        except Refused as error:
            self.answer(400, str(error))
        except (KeyError, TypeError, ValueError):
            self.answer(400, "must be JSON with `identifier_from_purchaser` and `input_data`")
        except Exception:
            self.answer(503, "The payment service is away. Try again.")

    def do_GET(self):
        url = urlsplit(self.path)
        result = result_of(parse_qs(url.query).get("job_id", [""])[0])
        if url.path == "/availability":
            self.answer(200, json.dumps({"status": "available", "type": "masumi-agent"}))
        elif url.path == "/input_schema":
            self.answer(200, json.dumps({"input_data": [{"id": "text", "type": "string", "name": "Text"}]}))
        else:
            self.answer(404 if result is None else 200, json.dumps({"result": result}))

    def answer(self, status, text):
        self.send_response(status)
        self.send_header("content-type", "application/json" if text.startswith("{") else "text/plain")
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass

try:
    server = ThreadingHTTPServer(("127.0.0.1", int(PORT)), Agent)
except (OSError, ValueError, OverflowError) as error:
    sys.exit(f"LISTEN_PORT: {error}")
threading.Thread(target=server.serve_forever, daemon=True).start()
failed = {}  # by payment: when to try it again, and the pause after that

def poll():
    """Works on what is paid. Returns the seconds until the next poll."""
    try:
        paid = call(f"/payment?{PAID}")["Payments"]
    except Exception as error:  # the service is away, or refuses the key
        print(error, file=sys.stderr)
        return 30
    for payment in paid:
        again, pause = failed.get(payment["id"], (0, 10))
        if not again < time.time() < int(payment["submitResultTime"]) / 1000:
            continue
        try:
            work(payment)
        except Exception as error:
            print(payment["id"], error, file=sys.stderr)
            failed[payment["id"]] = (time.time() + pause, pause * 2)
    return 1

with contextlib.suppress(KeyboardInterrupt):
    while True:
        time.sleep(poll())
