#!/usr/bin/env bash
# White-box kernels on one GPU, under five minutes: needs this checkout and a python with torch and transformers (PYTHON=...), no weights.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PYTHONPATH=lib exec "${PYTHON:-python3}" benchmarks/gpu.py "$@"
