#!/bin/sh
# A decision and its loss by curl: sh decide.sh http://127.0.0.1:8080 [TOKEN]
set -eu
game="$1/v1/games/example-shell"
send() { # METHOD PATH [BODY]: what curl could not get is asked for again, which is safe
    curl --silent --show-error --fail-with-body --retry 5 --retry-connrefused --request "$1" "$game$2" \
        --header "Content-Type: application/json" --header "Authorization: Bearer ${token:-none}" \
        --header "Idempotency-Key: ${key:-}" ${3:+--data "$3"}
}
field() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }

token=${2:-}
send PUT "" '{"policy": "adaptive", "arms": ["blue", "green"], "switching_cost": 0.3}' >/dev/null
key="job-$$-$(date +%s)"
decision=$(send POST /decisions)
id=$(echo "$decision" | field id)
echo "use $(echo "$decision" | field arm)"
send PUT "/decisions/$id/loss" '{"loss": 0.12}'
echo
