#!/bin/sh
# Makes the databases and their owners in a new cluster. PostgreSQL's image runs it once.
set -eu

role() {
  psql -v ON_ERROR_STOP=1 -v name="$1" -v password="$2" -d postgres <<'SQL'
create role :"name" login password :'password';
SQL
}

role svc "$SVC_DATABASE_PASSWORD"
role temporal "$TEMPORAL_DATABASE_PASSWORD"
role shop_write "$SHOP_WRITE_PASSWORD"
role shop_read "$SHOP_READ_PASSWORD"

for pair in svc:svc temporal:temporal temporal_visibility:temporal shop:shop_write; do
  psql -v ON_ERROR_STOP=1 -d postgres \
    -c "create database ${pair%:*} owner ${pair#*:}" \
    -c "revoke connect, temporary on database ${pair%:*} from public"
done

# What may be tried at once: a shop, its writer and its reader.
psql -v ON_ERROR_STOP=1 -d shop -c 'grant connect on database shop to shop_read' -c 'set role shop_write' -f /etc/svc/shop.sql \
  -c 'grant select on all tables in schema public to shop_read' \
  -c 'alter default privileges in schema public grant select on tables to shop_read'
