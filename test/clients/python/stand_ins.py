"""Stand-ins for two packages that pip-masumi imports, where they are not installed."""
import asyncio
import importlib.util
import json
import sys
import types
import urllib.error
import urllib.request


class Response:
    def __init__(self, status, body):
        self.status = status
        self.body = body

    async def text(self):
        return self.body

    async def json(self):
        return json.loads(self.body)


class Exchange:
    def __init__(self, method, url, headers, body):
        self.request = urllib.request.Request(url, method=method, headers=headers or {})
        if body is not None:
            self.request.data = json.dumps(body).encode()

    def send(self):
        try:
            with urllib.request.urlopen(self.request) as response:
                return Response(response.status, response.read().decode())
        except urllib.error.HTTPError as error:
            return Response(error.code, error.read().decode())

    async def __aenter__(self):
        return await asyncio.to_thread(self.send)

    async def __aexit__(self, *_):
        pass


class ClientSession:
    def __init__(self, connector=None):
        pass

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        pass

    def post(self, url, headers=None, json=None):
        return Exchange("POST", url, headers, json)

    def get(self, url, headers=None, params=None):
        return Exchange("GET", url, headers, None)


def provide(name, **members):
    """Adds a module with members, unless the package is installed."""
    if importlib.util.find_spec(name):
        return
    module = types.ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module


def canonical(value):
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode()


def install():
    provide(
        "aiohttp",
        ClientSession=ClientSession,
        TCPConnector=lambda: None,
        ClientError=OSError,
    )
    provide("canonicaljson", encode_canonical_json=canonical)
