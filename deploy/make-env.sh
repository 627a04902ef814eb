#!/bin/sh
# Makes deploy/.env, from which compose.yaml takes its secrets: at random, and once. What is there already stays.
set -eu
cd "$(dirname "$0")"
if [ -e .env ]; then
  echo 'deploy/.env is there already'
  exit 0
fi
secret() { od -An -v -tx1 -N32 /dev/urandom | tr -d ' \n'; }
umask 077
cat > .env.new <<END
POSTGRES_PASSWORD=$(secret)
VALKEY_PASSWORD=$(secret)
ROLLCALL_CUSTOMER_ID=acme
ROLLCALL_CUSTOMER_SECRET=$(secret)
ROLLCALL_PROJECT_ID=acme-prod
ROLLCALL_PROJECT_SECRET=$(secret)
END
mv .env.new .env
echo 'deploy/.env has new secrets'
