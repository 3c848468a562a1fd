# Sourced by run_all.sh and run_tests.sh: makes .venv from the pinned requirements on first use (or when they changed).
ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
cd "$ROOT"
VENV="${GEOBENCH_VENV:-$ROOT/.venv}"
PIN="$(cat requirements.lock pyproject.toml | cksum)"
if [ -n "${GEOBENCH_VENV:-}" ] && [ -f "$VENV/.pinned" ] && [ "$(cat "$VENV/.pinned")" != "$PIN" ]; then
  echo "GEOBENCH_VENV: $VENV was made from other requirements than this checkout's; give another folder, or delete it" >&2
  exit 1
fi
if [ "$(cat "$VENV/.pinned" 2>/dev/null)" != "$PIN" ]; then
  PYTHON="${PYTHON:-}"
  for candidate in python3.12 python3.11 python3; do
    [ -n "$PYTHON" ] && break
    "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 12))' 2>/dev/null && PYTHON="$candidate"
  done
  [ -n "$PYTHON" ] || { echo "Python 3.11 or 3.12 is needed (set PYTHON=/path/to/python3.12)" >&2; exit 1; }
  echo "First use: making $VENV with $("$PYTHON" --version) from requirements.lock (a few minutes)"
  "$PYTHON" -m venv "$VENV"
  "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check -r requirements.lock 2> >(grep -v '^WARNING: Location' >&2)
  "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -e . 2> >(grep -v '^WARNING: Location' >&2)
  echo "$PIN" > "$VENV/.pinned"
fi
export PYTHONHASHSEED=0 SOURCE_DATE_EPOCH=1767225600 MPLBACKEND=Agg TOKENIZERS_PARALLELISM=false HF_HUB_DISABLE_TELEMETRY=1 TQDM_DISABLE=1 PYTHONWARNINGS="ignore:IProgress not found"
export PYTHONPATH="$ROOT/lib${PYTHONPATH:+:$PYTHONPATH}"  # this checkout, whatever else is installed
