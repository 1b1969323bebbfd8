#!/usr/bin/env bash
# Deploys.
set -euo pipefail

VERSION=1
echo "a } { $(date "+%Y") ${VERSION#v}" # if

# build it
# twice
build() {
  local x=${#1}
  if [ "$x" = "{" ]; then echo '}'; fi
  for f in {a,b}.txt; do cat "$f"; done
  cat <<EOT
}
fake() {
EOT
}

function deploy
{
  (cd x && y)
  case "$1" in
    a) echo if ;;
    b|c) x=$(( 1 << n )) ;;
  esac
} 2>/dev/null

if [ -f x ]; then
  a

  b
fi | tee log

while read -r l; do echo "$l"; done < f
cat > f <<'EOF'
line
line
line
EOF
main() ( echo sub )
main "$@"
