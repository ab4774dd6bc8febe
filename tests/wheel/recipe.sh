#!/usr/bin/env bash
# Build the sdist, a wheel from it, and use the wheel where no compiler can be found.
#
#   tests/wheel/recipe.sh [python] [other pythons that must run the same wheel ...]
#
# Needs the packages of the extra "release". WHEELHOUSE=folder keeps the sdist and the wheel.
set -euo pipefail
root="$(cd "$(dirname "$0")/../.." && pwd)"
python="${1:-python3}"
shift || true
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

"$python" -m build --sdist --outdir "$work/dist" "$root"
mkdir "$work/source"
tar -xzf "$work"/dist/*.tar.gz -C "$work/source" --strip-components 1
"$python" -m build --wheel --outdir "$work/dist" "$work/source"
wheel="$(echo "$work"/dist/*.whl)"

"$python" -m twine check --strict "$work"/dist/*
"$python" -m check_wheel_contents "$wheel"
"$python" -m validate_pyproject "$root/pyproject.toml"
case "$wheel" in *abi3*) "$python" -m abi3audit --strict --report "$wheel" > /dev/null ;; esac
size="$(wc -c < "$wheel")"
[ "$size" -lt 3000000 ] || { echo "$(basename "$wheel") has $size bytes, the limit is 3 MB" >&2; exit 1; }

[ -z "${WHEELHOUSE:-}" ] || { mkdir -p "$WHEELHOUSE" && cp "$work"/dist/* "$WHEELHOUSE"; }

for each in "$python" "$@"; do
  "$each" -m venv "$work/clean"
  "$work/clean/bin/pip" install -q --only-binary :all: "$wheel"
  # No compiler on the path, and no source tree in sight.
  (cd "$work" && env -i HOME="$work" PATH="$work/clean/bin" \
    "$work/clean/bin/python" -I "$root/tests/wheel/check.py")
  if [ "$each" = "$python" ]; then # what the command without its extra has promised
    "$work/clean/bin/pip" install -q --only-binary :all: "$wheel[app]"
    (cd "$work" && env -i HOME="$work" PATH="$work/clean/bin" "$work/clean/bin/shortlist" demo)
    [ "$(wc -l < "$work/shortlist.csv")" -eq 31 ] && [ -s "$work/report.html" ]
  fi
  rm -rf "$work/clean"
done
echo "$(basename "$wheel"): $size bytes"
