#!/usr/bin/env bash
# The test suite; arguments go to pytest. Makes .venv on first use.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/bootstrap.sh"
if [ $# -eq 0 ]; then set -- -m "not slow"; fi
exec "$VENV/bin/python" -m pytest "$@"
