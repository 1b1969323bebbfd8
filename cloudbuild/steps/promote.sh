#!/bin/sh
# Copy the images into this environment's own registry, by digest: what ran one environment before runs here, bit by bit.
set -eu
file="infra/environments/$_ENVIRONMENT/images.auto.tfvars.json"
entries=""
while read -r function digest; do
  if [ "$_SOURCE_REGISTRY" != "$_REGISTRY" ]; then
    gcrane cp "$_SOURCE_REGISTRY/$function@$digest" "$_REGISTRY/$function:$_RELEASE"
  fi
  entries="$entries${entries:+, }\"$function\": \"$_REGISTRY/$function@$digest\""
done < /workspace/digests
echo "{\"images\": {$entries}}" > "$file"
cat "$file"
