import { MAX_ROWS } from './rows.js';

/** The separator between names in a list: no name can contain it. */
export const BETWEEN = '\0';

// Table names that differ only in case are different, while the catalogue compares names without case.
const listOf = (what: string, place: string) => `group_concat(${what} order by ${place} separator '\\0')`;

const ofAccount = `replace(grantee, '''', '') = current_user()`;

/** Name, rows, whether the table is transactional. */
export const TABLES = `
  select table_name, table_rows, engine <=> 'InnoDB' from information_schema.tables
  where table_schema = database() and table_type in ('BASE TABLE', 'SYSTEM VERSIONED') limit ${MAX_ROWS}`;

/**
 * Table, name, type, nullable, default, generation; in table order. MariaDB writes a missing default as the word NULL, and a text
 * in quotes.
 */
export const columns = ({ isMariadb }: { isMariadb: boolean }) => `
  select table_name, column_name, column_type, is_nullable,
    ${isMariadb ? `nullif(column_default, 'NULL')` : 'column_default'}, generation_expression
  from information_schema.columns where table_schema = database() order by table_name, ordinal_position limit ${MAX_ROWS}`;

/**
 * Table, name, columns; for a foreign key also the referenced schema, table and columns. A foreign key may have the name of
 * another key of its table.
 */
export const KEYS = `
  select max(table_name), max(constraint_name), ${listOf('column_name', 'ordinal_position')}, max(referenced_table_schema),
    max(referenced_table_name), ${listOf('referenced_column_name', 'ordinal_position')}
  from information_schema.key_column_usage where table_schema = database()
  group by cast(table_name as binary), cast(constraint_name as binary), referenced_table_name is null limit ${MAX_ROWS}`;

/** Table, foreign key, actions. */
export const RULES = `
  select table_name, constraint_name, delete_rule, update_rule from information_schema.referential_constraints
  where constraint_schema = database() limit ${MAX_ROWS}`;

/** Table, name, condition. MySQL lists a check's table only in another view, and its check names are unique in the database. */
export const checks = ({ isMariadb }: { isMariadb: boolean }) =>
  isMariadb
    ? `select table_name, constraint_name, check_clause from information_schema.check_constraints
       where constraint_schema = database() limit ${MAX_ROWS}`
    : `select t.table_name, c.constraint_name, c.check_clause from information_schema.check_constraints c
       join information_schema.table_constraints t
         on t.constraint_schema = c.constraint_schema and t.constraint_name = c.constraint_name and t.constraint_type = 'CHECK'
       where c.constraint_schema = database() limit ${MAX_ROWS}`;

/** Table, name, unique, type, key columns: a column by its name, an expression (MySQL only) as its text. */
export const indexes = ({ isMariadb }: { isMariadb: boolean }) => `
  select max(table_name), max(index_name), min(non_unique) = 0, lower(max(index_type)),
    ${listOf(isMariadb ? 'column_name' : 'coalesce(column_name, expression)', 'seq_in_index')}
  from information_schema.statistics where table_schema = database()
  group by cast(table_name as binary), cast(index_name as binary) limit ${MAX_ROWS}`;

/** Table, trigger. */
export const TRIGGERS = `
  select event_object_table, trigger_name from information_schema.triggers
  where event_object_schema = database() order by event_object_table, trigger_name limit ${MAX_ROWS}`;

/** A row when the account sees triggers, which needs the TRIGGER privilege on the database. */
export const TRIGGER_RIGHT = `
  select 1 from information_schema.user_privileges where privilege_type = 'TRIGGER' and ${ofAccount}
  union select 1 from information_schema.schema_privileges
  where privilege_type = 'TRIGGER' and database() like table_schema and ${ofAccount}`;
