#!/bin/sh
# Writes the files of a secretGenerator into a directory: random secrets, and the URLs in DATABASE_URL and REDIS_URL, which it
# reads from the environment. Existing files are not changed.
set -eu
directory=${1:?usage: DATABASE_URL=postgres://… REDIS_URL=redis://… make-secrets.sh <directory>}
random() { od -An -v -tx1 -N32 /dev/urandom | tr -d ' \n'; }
umask 077
mkdir -p "$directory"
write() {
  if [ -e "$directory/$1" ]; then
    echo "$directory/$1 is there already"
  else
    printf '%s\n' "$2" > "$directory/$1"
  fi
}
if [ ! -e "$directory/database-url" ]; then write database-url "${DATABASE_URL:?set it to the URL of PostgreSQL}"; fi
if [ ! -e "$directory/redis-url" ]; then write redis-url "${REDIS_URL:?set it to the URL of Redis}"; fi
write customer-secret "$(random)"
write project-secret "$(random)"
