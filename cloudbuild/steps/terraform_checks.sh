#!/bin/sh
# Format, validity and tests of every module and environment, with the real providers and no cloud.
set -eu
cd infra
terraform fmt -check -recursive -diff
for root in modules/* environments/*; do
  echo "$root"
  terraform -chdir="$root" init -backend=false -input=false -no-color > /dev/null
  terraform -chdir="$root" validate -no-color
  [ ! -d "$root/tests" ] || terraform -chdir="$root" test -no-color
done
