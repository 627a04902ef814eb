#!/bin/sh
# Writes deploy/.env with random secrets for compose.yaml. An existing file is not changed.
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
