#!/usr/bin/env bash
# Watch the new revisions for five minutes under real traffic. An error that they log, or a 5xx of query or manage, fails.
set -euo pipefail
since="$(date --utc +%Y-%m-%dT%H:%M:%SZ)"
filter="resource.type=cloud_run_revision AND timestamp>=\"$since\" AND ((resource.labels.service_name=(kb-query OR kb-manage) \
AND httpRequest.status>=500) OR (resource.labels.service_name=(kb-ingest OR kb-query OR kb-reindex OR kb-manage OR kb-maintain) \
AND jsonPayload.message=(\"unexpected error\" OR \"misconfigured\")))"
for minute in {1..5}; do
  sleep 60
  found="$(gcloud logging read "$filter" --project="$PROJECT_ID" --limit=5 --format=json)"
  if [[ "$(python3 -c 'import json, sys; print(len(json.load(sys.stdin)))' <<< "$found")" != 0 ]]; then
    echo "errors after $minute minutes: $found" >&2
    exit 1
  fi
  echo "minute $minute: no errors"
done
