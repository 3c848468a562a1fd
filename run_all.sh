#!/usr/bin/env bash
# The main job: every table and figure of a profile. `./run_all.sh --help` lists the options. Makes .venv on first use.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/bootstrap.sh"
case " $* " in
  *" --help "*|*" -h "*|*" --list "*|*" --dry-run "*|*" --profile released "*|*" --profile=released "*) ;; # no model
  *) "$VENV/bin/python" -m geobench weights ;;
esac
exec "$VENV/bin/python" -m geobench run "$@"
