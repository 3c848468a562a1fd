#!/usr/bin/env bash
# The tests of `executor: ray` against real Ray: two nodes on this machine, one of them killed during the work. Arguments go to pytest.
# Puts Ray beside .venv, into .ray (80 MB to fetch, once), and leaves .venv as it is. About two minutes on two cores.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../bootstrap.sh"
SITE="${GEOBENCH_RAY_SITE:-$ROOT/.ray}"
[ -d "$SITE/ray" ] || "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --target "$SITE" ray==2.60.0 msgpack==1.2.4 protobuf==7.36.2
export PYTHONPATH="$PYTHONPATH:$SITE" OMP_NUM_THREADS=1 # as many threads as a worker of one CPU has: the last digits depend on them
exec "$VENV/bin/python" -m pytest tests/executors "$@"
