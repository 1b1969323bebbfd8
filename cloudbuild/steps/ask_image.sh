#!/bin/sh
# Ask an image of query one question while it has no network: ask_image.sh IMAGE FOLDER. The folder holds `data`, an
# indexed data folder of one machine, and `engine`, its engine in the place of the Qdrant server.
set -eu
image="$1"
folder="$(cd "$2" && pwd)"
chown -R 10001:10001 "$folder"
container="$(docker run --detach --network none --read-only --tmpfs /tmp \
  --env KB_MODE=local --env KB_DATA_DIR=/smoke/data --env KB_EMBEDDING_MODEL=e5-small-enpt \
  --env PYTHONPATH=/app:/smoke/engine --volume "$folder:/smoke" "$image")"
trap 'docker logs "$container"; docker rm --force "$container" > /dev/null' EXIT
docker exec --interactive "$container" python - <<'PYTHON'
import json
import time
import urllib.request

asked = {"query": "A que horas parte a van do aeroporto de Salvador?", "top_k": 1}
request = urllib.request.Request(
    "http://127.0.0.1:8080/v1/bases/viagens/search", json.dumps(asked).encode(), {"Content-Type": "application/json"}
)
for attempt in range(60):
    try:
        answer = json.load(urllib.request.urlopen(request, timeout=30))
        break
    except OSError:
        time.sleep(1)
else:
    raise SystemExit("the image never answered")
print(answer["passages"][0]["citation"])
assert answer["match"] and not answer["degraded"], answer
PYTHON
