"""The misbehaving chat server of tests/engines, and children that are killed."""

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def server():
    spec = importlib.util.spec_from_file_location("chat_server", Path(__file__).parents[1] / "engines" / "conftest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = module.ChatServer()
    yield made
    made.close()


@pytest.fixture
def child():
    """`child(*arguments, **environment)`: a Python process in a group of its own; `.end()` kills the whole group."""
    started = []

    def start(*arguments, **environment):
        process = subprocess.Popen(
            [sys.executable, *map(str, arguments)], env=os.environ | environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, start_new_session=True,
        )

        def end():
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

        process.end = end
        started.append(process)
        return process

    yield start
    for process in started:
        process.end()


@pytest.fixture
def roomy_model(tiny_model, tmp_path):
    """`path:FOLDER` of a tiny decoder whose context holds the embedded lists."""
    folder = tmp_path / "roomy"
    shutil.copytree(tiny_model("llama").spec.locator, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"max_position_embeddings": 8192}))
    return f"path:{folder}"
