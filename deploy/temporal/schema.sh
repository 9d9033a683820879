#!/bin/sh
# Brings Temporal's two databases to the version of this image. Safe to repeat; the password is in SQL_PASSWORD.
set -eu

for database in temporal temporal_visibility; do
  tool() { temporal-sql-tool --plugin postgres12 --endpoint "${POSTGRES_HOST:-postgres}" --port "${POSTGRES_PORT:-5432}" --user temporal --database "$database" "$@"; }
  # Leaves one alone that is there.
  tool setup-schema --version 0.0
  case $database in
    temporal) versions=temporal ;;
    *) versions=visibility ;;
  esac
  tool update-schema --schema-name "postgresql/v12/$versions"
done
