#!/usr/bin/env bash
# Turn the release's tags into digests, once, and refuse images whose origin Cloud Build did not sign.
set -euo pipefail
[[ "$_RELEASE" =~ ^[0-9a-f]{40}$ ]] || { echo "_RELEASE is the commit of a release, 40 digits." >&2; exit 1; }
: > /workspace/digests
for function in ingest query reindex manage; do
  digest="$(gcloud artifacts docker images describe "$_SOURCE_REGISTRY/$function:$_RELEASE" \
    --format='value(image_summary.digest)')"
  [[ "$digest" =~ ^sha256:[0-9a-f]{64}$ ]] || { echo "$function has no image of $_RELEASE." >&2; exit 1; }
  echo "$function $digest" >> /workspace/digests
done
# Provenance is written a moment after the release's last step, which may be what started this deployment.
if [[ "$_SOURCE_REGISTRY" == *"/$PROJECT_ID/"* ]]; then
  while read -r function digest; do
    for attempt in {1..20}; do
      provenance="$(gcloud artifacts docker images describe "$_SOURCE_REGISTRY/$function@$digest" \
        --show-provenance --format='value(provenance_summary.provenance.len())')"
      [[ "${provenance:-0}" -gt 0 ]] && continue 2
      echo "no provenance of $function yet ($attempt)"
      sleep 15
    done
    echo "$function@$digest has no provenance." >&2
    exit 1
  done < /workspace/digests
fi
cat /workspace/digests
