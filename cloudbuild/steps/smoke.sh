#!/usr/bin/env bash
# Try the new revisions, which have no traffic. That they are ready says much already: the startup probe asks for the
# model, the catalog and the index. Paths that end in z cannot be asked from outside: Cloud Run keeps them for itself.
set -euo pipefail
for function in ingest query reindex manage maintain; do
  state="$(gcloud run services describe "kb-$function" --project="$PROJECT_ID" --region="$_REGION" \
    --format='value(status.latestCreatedRevisionName,status.latestReadyRevisionName)')"
  read -r created ready <<< "$state"
  [[ "$created" == "$ready" ]] || { echo "$created of $function does not become ready." >&2; exit 1; }
  echo "$function: $ready is ready"
done
for function in query manage; do
  url="$(gcloud run services describe "kb-$function" --project="$PROJECT_ID" --region="$_REGION" --format=json \
    | python3 -c '
import json, sys
print(next(row["url"] for row in json.load(sys.stdin)["status"]["traffic"] if row.get("tag") == "candidate"))')"
  service="https://kb-$function-$PROJECT_NUMBER.$_REGION.run.app"
  # For Cloud Run's own check, where it makes one; the function still asks for a token of its own, and says so.
  token="$(curl -sSf -H 'Metadata-Flavor: Google' \
    "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/identity?audience=$service")"
  answer="$(curl -sS --retry 5 --retry-all-errors --max-time 30 -H "X-Serverless-Authorization: Bearer $token" \
    -w '\n%{http_code}' "$url/v1/bases/smoke/documents/any")"
  status="${answer##*$'\n'}"
  if [[ "$status" != 401 || "$answer" != *UNAUTHENTICATED* ]]; then
    echo "$function answers $status where it has to ask for a token: $answer" >&2
    exit 1
  fi
  echo "$function: asks for a token"
done
