#!/bin/sh
# Plan, save and show: plan.sh NAME. What is shown is what apply.sh applies, and nothing else.
set -eu
cd "infra/environments/$_ENVIRONMENT"
terraform init -input=false -no-color -lockfile=readonly > /dev/null 2>&1 || terraform init -input=false -no-color
terraform plan -input=false -no-color -lock-timeout=300s -out="/workspace/$1.tfplan"
terraform show -no-color "/workspace/$1.tfplan" > "/workspace/$1.txt"
if [ "$_ALLOW_DESTROY" != "true" ] && grep -E '^ *# .* (will be destroyed|must be replaced)' "/workspace/$1.txt"; then
  echo "This plan destroys something. Look at it, and start again with _ALLOW_DESTROY=true if it is meant." >&2
  exit 1
fi
