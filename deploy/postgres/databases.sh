#!/bin/sh
# Makes the roles and databases that are missing, and gives each role the password of .env. Safe to repeat; PGHOST, PGUSER and PGPASSWORD say where.
set -eu

run() { psql -v ON_ERROR_STOP=1 -q "$@"; }

role() {
  # Not as an argument: every user of the host sees those.
  export ROLE_PASSWORD="$2"
  run -v name="$1" -d postgres <<'SQL'
\getenv password ROLE_PASSWORD
select format('create role %I', :'name') where not exists (select from pg_roles where rolname = :'name') \gexec
alter role :"name" login password :'password';
SQL
}

role svc "$SVC_DATABASE_PASSWORD"
role temporal "$TEMPORAL_DATABASE_PASSWORD"
role shop_write "$SHOP_WRITE_PASSWORD"
role shop_read "$SHOP_READ_PASSWORD"

for pair in svc:svc temporal:temporal temporal_visibility:temporal shop:shop_write; do
  run -v name="${pair%:*}" -v owner="${pair#*:}" -d postgres <<'SQL'
select format('create database %I owner %I', :'name', :'owner') where not exists (select from pg_database where datname = :'name') \gexec
revoke connect, temporary on database :"name" from public;
SQL
done

# What may be tried at once: a shop, its writer and its reader, all of it or nothing. Only where no table is: whoever tries it may rename and drop some.
is_empty=$(run -d shop -At -c "select not exists (select from pg_class where relnamespace = 'public'::regnamespace)")
if [ "$is_empty" = t ]; then
  run -1 -d shop -c 'grant connect on database shop to shop_read' -c 'set role shop_write' -f "${SHOP_SQL:-/etc/svc/shop.sql}" \
    -c 'grant select on all tables in schema public to shop_read' \
    -c 'alter default privileges in schema public grant select on tables to shop_read'
fi
