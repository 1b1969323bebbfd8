#!/usr/bin/env bash
# Name the revisions that serve now, so that the plan leaves all traffic with them. None at the first deployment.
set -euo pipefail
file="infra/environments/$_ENVIRONMENT/serving.auto.tfvars.json"
entries=""
for function in ingest query reindex manage maintain; do
  revision="$(gcloud run services describe "kb-$function" --project="$PROJECT_ID" --region="$_REGION" --format=json 2> /dev/null \
    | python3 -c '
import json, sys
text = sys.stdin.read()
traffic = json.loads(text)["status"].get("traffic", []) if text.strip() else []
print(next((row["revisionName"] for row in traffic if row.get("percent") == 100), ""))')" || true
  [[ -z "$revision" ]] || entries="$entries${entries:+, }\"$function\": \"$revision\""
done
echo "{\"serving_revisions\": {$entries}}" > "$file"
cat "$file"
