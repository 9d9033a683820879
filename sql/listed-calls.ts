import { folded } from './reserved-table.js';

/**
 * Whether a call of this function counts as a write (SQ-40, SQ-45). The name is the last part as the parser resolved it (SQ-42). The list is that of
 * SQ-45, followed by additions for current servers and their extensions, and for extensions and services that others offer for them. Many of these
 * work in a read-only transaction, so the second guard would not stop them.
 */
export function isListedCall(name: string): boolean {
  const seen = folded(name);
  return names.has(seen) || prefixes.some((prefix) => seen.startsWith(prefix));
}

/**
 * Whether reading this table counts as such a call: PostgreSQL's views on listed functions, which read files of the server, and InnoDB's tables whose
 * counters a read sets back for everybody.
 */
export const isListedTable = (name: string): boolean => tables.has(folded(name));

const own = `set_config nextval setval copy_to copy_from loread lowrite query_to_xml query_to_xmlschema query_to_xml_and_xmlschema
  cursor_to_xml cursor_to_xmlschema table_to_xml schema_to_xml database_to_xml ts_stat ts_rewrite connectby xpath_table
  pg_notify pg_cancel_backend pg_terminate_backend pg_execute_server_program pg_stat_file pg_reload_conf pg_rotate_logfile
  pg_promote pg_switch_wal pg_export_snapshot pg_import_system_collations pg_prewarm pg_nextoid pg_current_logfile
  pg_hba_file_rules pg_show_all_file_settings sleep benchmark load_file get_lock release_lock release_all_locks is_free_lock
  is_used_lock sys_exec sys_eval master_pos_wait source_pos_wait wait_for_executed_gtid_set
  wait_until_sql_thread_after_gtids master_gtid_wait wsrep_sync_wait_upto_gtid load_rewrite_rules flush_rewrite_rules
  set_firewall_mode read_firewall_users read_firewall_whitelist mysql_firewall_flush_status sys_set mroonga_command
  pg_current_xact_id txid_current brin_summarize_new_values brin_summarize_range brin_desummarize_range gin_clean_pending_list
  pg_sync_replication_slots pg_stop_making_pinned_objects pg_extension_config_dump pg_ident_file_mappings
  table_to_xml_and_xmlschema schema_to_xml_and_xmlschema database_to_xml_and_xmlschema
  heap_force_kill heap_force_freeze pg_truncate_visibility_map bt_index_parent_check autoprewarm_dump_now
  autoprewarm_start_worker postgres_fdw_disconnect postgres_fdw_disconnect_all set_limit isn_weak`;

/**
 * These reach other servers, files, processes or statistics, which no transaction undoes: aws_s3, aws_lambda, azure_storage, pgsql-http and pg_net, Citus,
 * oracle_fdw, pg_clickhouse, pg_duckdb, orafce, the reset functions of monitoring extensions, HypoPG, whose indexes would last as long as the session;
 * Aurora's Lambda, MySQL's masking, firewall and audit plugins, the JSON functions of MariaDB's CONNECT, adminpack up to PostgreSQL 16.
 */
const ofOthers = `query_export_to_s3 table_import_from_s3 invoke blob_put
  http http_get http_post http_put http_patch http_delete http_head master_run_on_worker
  oracle_execute clickhouse_raw_query clickhousedb_raw_query raw_query
  fopen fremove frename fcopy send_message receive_message create_pipe remove_pipe
  pg_stat_kcache_reset pg_stat_monitor_reset pg_qualstats_reset pg_store_plans_reset pg_wait_sampling_reset_profile
  hypopg_create_index hypopg_drop_index hypopg_hide_index hypopg_unhide_index hypopg_unhide_all_indexes hypopg_reset
  lambda_sync lambda_async gen_dictionary_load gen_dictionary_drop
  set_firewall_group_mode read_firewall_groups read_firewall_group_allowlist audit_api_message_emit_udf
  json_file jbin_file bson_file bbin_file envar pg_logdir_ls`;

const names = new Set(`${own} ${ofOthers}`.split(/\s+/));

const tables = new Set(
  `pg_file_settings pg_hba_file_rules pg_ident_file_mappings
  innodb_cmp_reset innodb_cmp_per_index_reset innodb_cmpmem_reset`.split(/\s+/),
);

const prefixes = `dblink lo_ crosstab pg_sleep pg_advisory_ pg_try_advisory_ pg_ls_ pg_read_ pg_file_ pg_create_ pg_drop_ pg_copy_
  pg_wal_ pg_backup_ pg_start_backup pg_stop_backup pg_log_ pg_logical_ pg_replication_ pg_restore_ pg_clear_ pg_set_
  pg_stat_reset pg_stat_statements_reset asynchronous_connection_failover_ group_replication_ keyring_ version_tokens_
  service_get_ service_release_ audit_log_ masking_dictionar firewall_ spider_ binary_upgrade_ pg_buffercache_evict
  run_command_on_ pg_background_ pldbg_ jfile_ bfile_`.split(/\s+/);
