#!/bin/sh
# Usage: sh with-curl.sh <client> <service>
# Asks the token broker for a token with curl (7.88 or newer) and prints its answer, token included.
# Needs TOKEN_BROKER_URL, AWS_REGION (that of the URL), AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, for a role,
# AWS_SESSION_TOKEN.
set -eu

if [ $# -ne 2 ]; then
  echo 'Usage: sh with-curl.sh <client> <service>' >&2
  exit 2
fi

# The keys go through standard input: other users of a machine can read its command lines.
keys="user = \"$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY\""
if [ -n "${AWS_SESSION_TOKEN:-}" ]; then
  keys="$keys
header = \"x-amz-security-token: $AWS_SESSION_TOKEN\""
fi

# A form needs no quoting. Repeated are 429 and most 5xx, after their Retry-After, within the first 20 s.
answer=$(printf '%s\n' "$keys" | curl --silent --show-error --fail-with-body --max-time 20 --retry 2 --retry-max-time 20 \
  --aws-sigv4 "aws:amz:$AWS_REGION:lambda" --config - \
  --data-urlencode "client=$1" --data-urlencode "service=$2" \
  "${TOKEN_BROKER_URL%/}/token") || status=$?

# curl takes a redirect for success, and a refusal by AWS may repeat the signed request, session token included.
case $answer in
*'"access_token"'*) printf '%s\n' "$answer" ;;
*) printf '%s\n' "$answer" | sed 's/[Xx]-[Aa]mz-.*//' && exit "${status:-1}" ;;
esac
