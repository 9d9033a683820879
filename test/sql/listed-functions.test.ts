import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSqlClassifier, type SqlClassifier } from '../../sql/classify.js';
import { isListedCall, isListedTable } from '../../sql/listed-calls.js';
import { connectEmptyDatabase, type TestDatabase } from '../support/postgres.js';

let database: TestDatabase;
let client: pg.Client;
beforeAll(async () => {
  ({ database, client } = await connectEmptyDatabase());
});
afterAll(async () => {
  await client?.end();
  await database?.drop();
});

/** Functions that SQL can call and that the server itself says may do more than compute; what only the server calls is left out. */
const volatileFunctions = `select distinct p.proname as name from pg_proc p
  where p.provolatile = 'v' and p.prokind in ('f', 'p') and not 'internal'::regtype = any (p.proargtypes)
    and p.prorettype::regtype::text !~ '^(internal|trigger|event_trigger|.*_handler)$'
    and p.proname !~ '_validator$' order by 1`;

const unlisted = async (of = client): Promise<string[]> => {
  const { rows } = await of.query<{ name: string }>(volatileFunctions);
  return rows.map(({ name }) => name).filter((name) => !isListedCall(name));
};

describe('SQ-45: every volatile function of the server is listed or known to change nothing', () => {
  it('of PostgreSQL itself', async () => {
    expect((await unlisted()).filter((name) => !harmless.has(name))).toEqual([]);
  });

  it('of the extensions that come with it, also where a view calls it', async () => {
    const extended = await connectEmptyDatabase();
    const { rows } = await extended.client.query<{ name: string }>(
      `select name from pg_available_extensions where name !~ '^.*(plperl|plpython|pltcl)'`,
    );
    for (const { name } of rows) await extended.client.query(`create extension if not exists "${name}" cascade`);
    const { rows: views } = await extended.client.query<{ name: string; text: string }>(
      'select viewname as name, definition as text from pg_views',
    );
    const calling = views.filter(({ text }) => [...text.matchAll(/(\w+)\(/g)].some(([, name]) => isListedCall(name ?? '')));
    expect(calling.map(({ name }) => name).filter((name) => !isListedTable(name))).toEqual([]);
    expect(calling.length).toBe(3);
    const names = await unlisted(extended.client);
    expect(names.filter((name) => !harmless.has(name) && !harmlessInExtensions.has(name))).toEqual([]);
    await extended.client.end();
    await extended.database.drop();
  });

  it('and none is called harmless that is listed', () => {
    expect([...harmless, ...harmlessInExtensions].filter(isListedCall)).toEqual([]);
  });

  it.each([
    ['takes a transaction id', 'select pg_current_xact_id()'],
    ['takes a transaction id by its former name', 'select txid_current()'],
    ['writes an index', `select brin_summarize_new_values('summarized')`],
  ])('a call that %s is listed, because a read-only transaction lets it', async (_what, text) => {
    await client.query('create table if not exists indexed (a int)');
    await client.query('create index if not exists summarized on indexed using brin (a)');
    await client.query('begin read only');
    await expect(client.query(text)).resolves.toBeDefined();
    await client.query('rollback');
    expect(isListedCall(/select (\w+)/.exec(text)?.[1] ?? '')).toBe(true);
  });
});

describe('SQ-45: a function of an extension or a service that reaches beyond the transaction', () => {
  let sql: SqlClassifier;
  beforeAll(async () => {
    sql = await createSqlClassifier();
  });
  afterAll(() => sql.close());

  it.each([
    [`select * from run_command_on_workers('drop table t')`, 'postgresql'],
    [`select aws_lambda.invoke('f', '{}'::json)`, 'postgresql'],
    [`select * from aws_s3.query_export_to_s3('select * from customers', 'bucket')`, 'postgresql'],
    [`select azure_storage.blob_put('account', 'container', 'b', t) from t`, 'postgresql'],
    [`select pg_background_launch('delete from t')`, 'postgresql'],
    [`select (http_post('http://10.0.0.1/', '', '')).status`, 'postgresql'],
    [`select oracle_execute('server', 'drop table t')`, 'postgresql'],
    [`select utl_file.fopen('/tmp', 'x', 'w')`, 'postgresql'],
    [`select pg_stat_kcache_reset()`, 'postgresql'],
    [`select hypopg_create_index('create index on t (a)')`, 'postgresql'],
    [`select lambda_async('arn:aws:lambda:f', '{}')`, 'mysql'],
    [`select gen_dictionary_load('/tmp/x', 'names')`, 'mysql'],
    [`select set_firewall_group_mode('g', 'OFF')`, 'mysql'],
    [`select json_file('/etc/secrets.json')`, 'mysql'],
    [`select jfile_make(json_object('a', 1), '/tmp/x.json', 0)`, 'mysql'],
    [`select bfile_make(bson_file('/etc/secrets.json'), '/tmp/x.json')`, 'mysql'],
    [`select envar('MYSQL_PWD')`, 'mysql'],
    ['select * from pg_logdir_ls() as l (at timestamp, file text)', 'postgresql'],
  ] as const)('is a write: %s', async (text, dialect) => {
    const options = { dialect, statementTimeoutSecs: 30 };
    expect(await sql.classify(text, options)).toMatchObject({ verdict: 'accepted', read: false, write: true });
    expect(await sql.classify(`explain ${text}`, options)).toMatchObject({ verdict: 'accepted', read: false });
  });
});

it.each(['pg_advİsory_lock', 'pg_notİfy', 'PG_SLÉEP'])(
  'SQ-42: %s is listed: a server folds letters outside ASCII in a database of one byte for each',
  (name) => expect(isListedCall(name)).toBe(true),
);

describe('SQ-45: a table of the server that is a listed call when it is read', () => {
  let sql: SqlClassifier;
  beforeAll(async () => {
    sql = await createSqlClassifier();
  });
  afterAll(() => sql.close());

  it.each([
    ['select * from pg_hba_file_rules', 'postgresql'],
    ['table pg_catalog."pg_file_settings"', 'postgresql'],
    ['select (select count(*) from PG_IDENT_FILE_MAPPINGS)', 'postgresql'],
    ['select * from pg_fİle_settings', 'postgresql'],
    ['select * from information_schema.innodb_cmp_reset', 'mysql'],
    ['select 1 from small join INFORMATION_SCHEMA . `Innodb_CmpMem_Reset` r', 'mysql'],
    ['table information_schema.INNODB_CMP_PER_INDEX_RESET', 'mysql'],
    ['select * from information_schema.İnnodb_cmpmem_reset', 'mysql'],
  ] as const)('is a write: %s', async (text, dialect) => {
    const options = { dialect, statementTimeoutSecs: 30 };
    expect(await sql.classify(text, options)).toMatchObject({ verdict: 'accepted', read: false, write: true, ddl: false });
    expect(await sql.classify(`create view v as ${text}`, options)).toMatchObject({ ddl: true, facts: [{ listedCall: true }] });
  });

  it.each([
    [`select 'pg_hba_file_rules', pg_settings.name from pg_settings`, 'postgresql'],
    [`select 'innodb_cmp_reset' from information_schema.innodb_cmp`, 'mysql'],
  ] as const)('but not its name in a text, nor another table: %s', async (text, dialect) => {
    expect(await sql.classify(text, { dialect, statementTimeoutSecs: 30 })).toMatchObject({ verdict: 'accepted', read: true });
  });
});

const fieldCalls = [
  'select (0.001::float8).pg_sleep',
  'select d.pg_sleep from float8(0.001) d',
  'select float8.pg_sleep from float8(0.001)',
  'select d.pg_sleep from rows from (float8(0.001)) as d (x)',
  'select "D".pg_sleep_until from current_timestamp "D"',
  'select float8.pg_sleep from cast(0.001 as float8)',
  'select d.pg_sleep from float8(0.001) d (x), (values (1)) t (pg_sleep)',
  'select d.pg_sleep, (select d.pg_sleep from float8(0.001) d) from float8(0.001) d (pg_sleep)',
  'select (array[0.001::float8])[1].pg_sleep',
  'select (x).pg_sleep from (values (0.001::float8)) v (x)',
  `select ('sequence_of_fields'::regclass).nextval`,
  'select (7::bigint).pg_advisory_unlock, (7::bigint).pg_try_advisory_lock',
  `select 1 order by ('PG_VERSION'::text).pg_read_file`,
];

describe('SQ-42: a call written as a field of its argument is a call', () => {
  let sql: SqlClassifier;
  beforeAll(async () => {
    sql = await createSqlClassifier();
    await client.query('create sequence if not exists sequence_of_fields');
  });
  afterAll(() => sql.close());
  const classify = (text: string) => sql.classify(text, { dialect: 'postgresql', statementTimeoutSecs: 30 });

  it('after the name of a function in letters that some servers fold', async () => {
    expect(await classify('select ä.pg_sleep from float8(0.001) Ä')).toMatchObject({ read: false, write: true });
  });

  it.each(fieldCalls)('%s, which the server runs', async (text) => {
    await expect(client.query(text)).resolves.toBeDefined();
    expect(await classify(text)).toMatchObject({ verdict: 'accepted', read: false, write: true, ddl: false });
    expect(await classify(`explain ${text}`)).toMatchObject({ read: false, write: true });
  });

  it.each([
    'select t.lo_price, public.t.lo_price from t',
    'select pg_sleep from t',
    'select (t.a).b, d.x from t, generate_series(1, 2) d (x)',
    'select t.lo_price, t.audit_log_id, e.value from t cross join lateral jsonb_array_elements(t.changes) e',
    'select d.pg_sleep from float8(0.001) d (pg_sleep)',
    'select d.pg_sleep from jsonb_to_record($${}$$) d (pg_sleep float8)',
  ])('but no column is, of a table or named in the text: %s', async (text) => {
    expect(await classify(text)).toMatchObject({ verdict: 'accepted', read: true });
  });
});

/** They read, compute or draw random numbers; `setseed` is felt by its own session only. */
const harmless = new Set(
  `amvalidate array_sample array_shuffle clock_timestamp current_query currtid2 currval gen_random_uuid lastval
  pg_available_wal_summaries pg_blocking_pids pg_collation_actual_version pg_control_checkpoint pg_control_init pg_control_recovery
  pg_control_system pg_current_wal_flush_lsn pg_current_wal_insert_lsn pg_current_wal_lsn pg_database_collation_actual_version
  pg_database_size pg_get_aios pg_get_backend_memory_contexts pg_get_loaded_modules pg_get_multixact_members pg_get_sequence_data
  pg_get_shmem_allocations pg_get_shmem_allocations_numa pg_get_wait_events pg_get_wal_replay_pause_state
  pg_get_wal_resource_managers pg_get_wal_summarizer_state pg_indexes_size pg_is_in_recovery pg_is_wal_replay_paused
  pg_isolation_test_session_is_blocked pg_jit_available pg_last_committed_xact pg_last_wal_receive_lsn pg_last_wal_replay_lsn
  pg_last_xact_replay_timestamp pg_lock_status pg_notification_queue_usage pg_partition_ancestors pg_partition_tree pg_prepared_xact
  pg_relation_size pg_safe_snapshot_blocking_pids pg_sequence_last_value pg_show_replication_origin_status pg_stat_clear_snapshot
  pg_stat_force_next_flush pg_stat_get_backend_io pg_stat_get_backend_wal pg_stat_get_io pg_stat_get_recovery_prefetch
  pg_stat_get_xact_blocks_fetched pg_stat_get_xact_blocks_hit pg_stat_get_xact_function_calls pg_stat_get_xact_function_self_time
  pg_stat_get_xact_function_total_time pg_stat_get_xact_numscans pg_stat_get_xact_tuples_deleted pg_stat_get_xact_tuples_fetched
  pg_stat_get_xact_tuples_hot_updated pg_stat_get_xact_tuples_inserted pg_stat_get_xact_tuples_newpage_updated
  pg_stat_get_xact_tuples_returned pg_stat_get_xact_tuples_updated pg_stat_have_stats pg_table_size pg_tablespace_size
  pg_total_relation_size pg_xact_commit_timestamp pg_xact_commit_timestamp_origin pg_xact_status random random_normal setseed
  timeofday txid_status uuidv4 uuidv7`.split(/\s+/),
);

/** They look at pages, locks, statistics and the log, encrypt, or draw random numbers. */
const harmlessInExtensions = new Set(
  `bt_index_check gin_index_check verify_heapam brin_metapage_info brin_page_items brin_page_type brin_revmap_data bt_metap
  bt_multi_page_stats bt_page_items bt_page_stats fsm_page_contents get_raw_page gin_leafpage_items gin_metapage_info
  gin_page_opaque_info gist_page_items gist_page_items_bytea gist_page_opaque_info hash_bitmap_info hash_metapage_info
  hash_page_items hash_page_stats hash_page_type heap_page_item_attrs heap_page_items heap_tuple_infomask_flags page_checksum
  page_header tuple_data_split pg_buffercache_numa_pages pg_buffercache_pages pg_buffercache_summary pg_buffercache_usage_counts
  pg_freespace pg_get_logical_snapshot_info pg_get_logical_snapshot_meta pg_stat_statements pg_stat_statements_info
  pg_check_frozen pg_check_visible pg_visibility pg_visibility_map pg_visibility_map_summary pg_get_wal_block_info
  pg_get_wal_record_info pg_get_wal_records_info pg_get_wal_stats fips_mode gen_random_bytes gen_salt pgp_pub_encrypt
  pgp_pub_encrypt_bytea pgp_sym_encrypt pgp_sym_encrypt_bytea pgrowlocks pg_relpages pgstatginindex pgstathashindex pgstatindex
  pgstattuple pgstattuple_approx postgres_fdw_get_connections ssl_cipher ssl_client_cert_present ssl_client_dn
  ssl_client_dn_field ssl_client_serial ssl_extension_info ssl_is_used ssl_issuer_dn ssl_issuer_field ssl_version normal_rand
  uuid_generate_v1 uuid_generate_v1mc uuid_generate_v4 xslt_process`.split(/\s+/),
);
