#!/bin/sh
# Apply the saved plan: apply.sh NAME.
set -eu
cd "infra/environments/$_ENVIRONMENT"
terraform apply -input=false -no-color -lock-timeout=300s "/workspace/$1.tfplan"
