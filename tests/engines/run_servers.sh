#!/usr/bin/env bash
# The engines' contract over HTTP against two real servers, vLLM's and llama.cpp's, on SmolLM2: tests/engines/run_servers.sh [FOLDER]
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
make_vllm
make_llama
make_gguf
"$VLLM/bin/python" -m geobench weights
WEIGHTS="$("$VLLM/bin/python" -c 'from geobench.models import spec; from geobench.weights import locate; print(locate(spec("smollm2-135m"))[0])')"
read -r FIRST SECOND < <("$VLLM/bin/python" -c '
import socket
found = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(s.getsockname()[1] for s in found))')

SERVERS=()
trap 'for server in "${SERVERS[@]}"; do kill "$server" 2>/dev/null || true; done; wait' EXIT
"$VLLM/bin/python" -m vllm.entrypoints.openai.api_server --model "$WEIGHTS" --served-model-name smollm2-135m --dtype float32 --enforce-eager --max-model-len 2048 \
  --generation-config vllm --host 127.0.0.1 --port "$FIRST" > "$ENVIRONMENTS/vllm.log" 2>&1 &
SERVERS+=($!)
"$LLAMA/bin/python" -m llama_cpp.server --model "$GGUF" --model_alias smollm2-135m --n_ctx 2048 --logits_all true --n_threads 2 \
  --host 127.0.0.1 --port "$SECOND" > "$ENVIRONMENTS/llama.log" 2>&1 &
SERVERS+=($!)

start=$SECONDS
for port in "$FIRST" "$SECOND"; do
  until "$VLLM/bin/python" -c "import sys, urllib.request; urllib.request.urlopen('http://127.0.0.1:$port/v1/models', timeout=5)" 2>/dev/null; do
    [ $((SECONDS - start)) -lt 1800 ] || { echo "no server on port $port; see $ENVIRONMENTS/*.log" >&2; exit 1; }
    for server in "${SERVERS[@]}"; do kill -0 "$server" 2>/dev/null || { echo "a server ended; see $ENVIRONMENTS/*.log" >&2; exit 1; }; done
    sleep 3
  done
done
seconds "both servers started" "$start"

start=$SECONDS
GEOBENCH_CONTRACT="vllm=http://127.0.0.1:$FIRST/v1 llama.cpp=http://127.0.0.1:$SECOND/v1" \
  "$VLLM/bin/python" -m pytest -q -s -p no:cacheprovider -k openai tests/engines/test_contract.py
seconds "contract against both servers" "$start"
seconds "in all"
