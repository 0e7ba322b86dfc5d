#!/usr/bin/env bash
# An agent in shell: claim, work, complete; fail when the work cannot be done.
#
#   dibs add count "How many words?" --payload '{"text": "to be or not to be"}'
#   ./shell_agent.sh            works until there has been nothing to do for a second
#
# The lease (60 s) is longer than the work; work that takes longer calls `dibs renew` now and then.
set -euo pipefail
agent="shell-$$"

# A value from the claim: `field task.payload.text`. With jq it would be: jq -er .task.payload.text <<<"$claim"
field() {
    python3 -c '
import json, sys
value = json.load(sys.stdin)
for name in sys.argv[1].split("."):
    value = value[name]
print(value)' "$1" <<<"$claim" 2>/dev/null
}

while true; do
    claim=$(dibs claim --agent "$agent" --type count --lease 60s --wait 1s) || {
        code=$?
        [ "$code" -eq 3 ] && exit 0   # 3: nothing to do
        exit "$code"
    }
    id=$(field task.id) fence=$(field fence)

    if text=$(field task.payload.text); then
        dibs log "$id" --fence "$fence" "counting words in ${#text} characters"
        dibs complete "$id" --fence "$fence" --output "{\"words\": $(($(wc -w <<<"$text")))}"
    else
        dibs fail "$id" --fence "$fence" --error "the payload has no text" --reason invalid_input
    fi
done
