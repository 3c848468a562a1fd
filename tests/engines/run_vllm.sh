#!/usr/bin/env bash
# The engines' contract against real vLLM on a CPU, in an environment of its own: tests/engines/run_vllm.sh [FOLDER]
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
make_vllm
"$VLLM/bin/python" -m geobench weights
start=$SECONDS
GEOBENCH_CONTRACT=vllm "$VLLM/bin/python" -m pytest -q -s -p no:cacheprovider -k "not openai" tests/engines/test_contract.py
seconds "contract against vLLM" "$start"
seconds "in all"
