#!/bin/sh
# A virtual environment that holds what one function installs, and no pip: install.sh FUNCTION FOLDER.
# Compiled here, for every module that is not compiled makes a cold start longer.
set -eu
locked="$(mktemp)"
python cloudbuild/locked.py "$1" > "$locked"
python -m venv --without-pip "$2"
python -m pip --python "$2/bin/python" install --quiet --no-deps --require-hashes --only-binary=:all: --no-compile -r "$locked"
"$2/bin/python" -m compileall -q -j 0 --invalidation-mode unchecked-hash "$2/lib" || echo "some modules of packages cannot be compiled" >&2
rm "$locked"
