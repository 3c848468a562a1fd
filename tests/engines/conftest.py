"""A small chat server on this machine that can misbehave on demand."""

import json
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class ChatServer:
    """Answers every chat completion with a text made of the last message. `fault(n)` names what goes wrong at request n (0, 1, ...).

    `billed`: tokens (in, out) of the replies that a client can have seen whole; `asked`: the requests' bodies; `flying`: the most
    requests at one time.
    """

    def __init__(self):
        self.fault = lambda n: None
        self.text = lambda body: "1. " + body["messages"][-1]["content"]
        self.finish, self.logprobs, self.headers, self.delay = "stop", None, {}, 0.0
        self.asked, self.seen, self.billed, self.flying, self._now = [], Counter(), [0, 0], 0, 0
        self.keys, self.code = set(), None
        lock, outer = threading.Lock(), self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                with lock:
                    number = len(outer.asked)
                    outer.asked.append(body)
                    outer.keys.add(self.headers["authorization"])
                    outer._now += 1
                    outer.flying = max(outer.flying, outer._now)
                try:
                    time.sleep(outer.delay)
                    outer._answer(self, body, outer.fault(number), lock)
                finally:
                    with lock:
                        outer._now -= 1

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None  # a client that went away
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def _answer(self, handler, body, fault, lock):
        with lock:
            self.seen[fault] += 1
        if fault == "silence":
            time.sleep(1.0)
            return
        if isinstance(fault, int):
            error = {"error": {"message": f"made to fail, key {handler.headers['authorization'][7:]}", "code": self.code or f"e{fault}"}}
            return self._send(handler, fault, json.dumps(error).encode(), {"retry-after-ms": "1"})
        text = self.text(body)
        usage = {"prompt_tokens": len(str(body["messages"])) // 4, "completion_tokens": len(text.split())}
        choice = {"index": 0, "finish_reason": self.finish, "message": {"role": "assistant", "content": text}, "logprobs": self.logprobs}
        model = "somebody-else" if fault == "other model" else body["model"]
        made = {"id": "x", "object": "chat.completion", "created": 0, "model": model, "choices": [choice], "usage": usage}
        if fault == "no choices":
            made["choices"] = []
        raw = json.dumps(made).encode()
        if fault == "malformed":
            raw = raw[:-7] + b"}}"
        if fault == "endless":
            raw = b"[" * 50_000
        if fault not in ("half", "malformed", "endless"):
            with lock:
                self.billed[0] += usage["prompt_tokens"]
                self.billed[1] += usage["completion_tokens"]
        self._send(handler, 200, raw, self.headers, half=fault == "half")

    @staticmethod
    def _send(handler, status, raw, headers, half=False):
        handler.send_response(status)
        for name, value in {"content-type": "application/json", "content-length": str(len(raw)), **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(raw[: len(raw) // 2] if half else raw)

    def close(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server():
    made = ChatServer()
    yield made
    made.close()


@pytest.fixture
def api_model(server, tmp_path, monkeypatch):
    """`api_model(budget=None, **api)`: an engine on the server with a store and a budget of its own; `.again()` is a new process's."""
    from geobench.engines.budget import Budget
    from geobench.engines.openai import OpenAIModel
    from geobench.models import ModelSpec
    from geobench.replies import ReplyStore

    monkeypatch.setenv("TEST_API_KEY", "sk-secret-123456")

    def make(limit=None, run="r", file="replies.sqlite", **api):
        shown = {"base_url": server.url, "key_env": "TEST_API_KEY", "prices": {"input": 1.0, "output": 10.0}, "timeout": 0.5, "pause": 0.0}
        spec = ModelSpec("mini", "openai:mini", engine="openai", read_outs=("generate",), api=shown | {"retries": 1, **api})
        budget = Budget()
        budget.begin(run, limit)
        return OpenAIModel(spec, ReplyStore(tmp_path / file), budget)

    return make


@pytest.fixture(scope="session")
def chats():
    """`chats(n)`: n prompts that differ."""
    return lambda n: [[{"role": "system", "content": "Rank."}, {"role": "user", "content": f"question {i}"}] for i in range(n)]


@pytest.fixture(scope="session")
def known():
    """`known(engine)`: tokens in, tokens out and dollars that the store says were paid for replies that came whole."""
    sql = "select sum(tokens_in), sum(tokens_out), sum(dollars) from costs where known"
    return lambda engine: engine.store._read(sql)[0]
