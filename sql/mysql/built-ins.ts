import { words } from '../../lib/words.js';
import type { BuiltIn } from '../postgres/built-ins.js';

/**
 * MariaDB and MySQL functions that compute their result from their arguments alone, read the clock, or draw random numbers. A name that is missing is
 * not considered harmless. A test demands a verdict for every function that a real server names. XML and GTID functions are left out because their
 * error texts repeat arguments.
 */
const computing = words(`
  abs acos asin atan atan2 ceil ceiling conv cos cot crc32 crc32c degrees exp floor format greatest least ln log log10 log2 mod pi pow power
  radians rand random_bytes round sformat sign sin sqrt tan truncate bit_count uuid sys_guid
  ascii bin bit_length char char_length character_length chr concat concat_operator_oracle concat_ws elt export_set field find_in_set
  from_base64 hex insert instr lcase left length lengthb locate lower lpad lpad_oracle ltrim ltrim_oracle make_set mid natural_sort_key oct
  octet_length ord position quote regexp_instr regexp_like regexp_replace regexp_substr repeat replace replace_oracle reverse right rpad
  rpad_oracle rtrim rtrim_oracle soundex space strcmp substr substr_oracle substring substring_index to_base64 trim trim_oracle ucase unhex
  upper weight_string charset coercibility collation
  aes_decrypt aes_encrypt compress decode decode_oracle encode md5 sha sha1 sha2 uncompress uncompressed_length
  add_months adddate addtime curdate current_date current_time current_timestamp curtime date date_add date_format date_sub datediff day
  dayname dayofmonth dayofweek dayofyear extract from_days from_unixtime get_format hour last_day localtime localtimestamp makedate maketime
  microsecond minute month monthname now period_add period_diff quarter sec_to_time second str_to_date subdate subtime sysdate time
  time_format time_to_sec timediff timestamp timestampadd timestampdiff to_char to_days to_seconds unix_timestamp utc_date utc_time
  utc_timestamp week weekday weekofyear year yearweek
  cast coalesce convert default if ifnull interval isnull nullif nvl nvl2 row values any_value grouping name_const
  inet6_aton inet6_ntoa inet_aton inet_ntoa is_ipv4 is_ipv4_compat is_ipv4_mapped is_ipv6 is_uuid bin_to_uuid uuid_to_bin
  column_add column_check column_create column_delete column_exists column_get column_json column_list
  json_array json_array_append json_array_insert json_arrayagg json_compact json_contains json_contains_path json_depth json_detailed
  json_equals json_exists json_extract json_insert json_keys json_length json_loose json_merge json_merge_patch json_merge_preserve
  json_normalize json_object json_objectagg json_overlaps json_pretty json_query json_quote json_remove json_replace json_search json_set
  json_table json_type json_unquote json_valid json_value
  avg bit_and bit_or bit_xor count cume_dist dense_rank first_value group_concat lag last_value lead max median min nth_value ntile
  percent_rank percentile_cont percentile_disc rank row_number std stddev stddev_pop stddev_samp sum var_pop var_samp variance`);

/** These have no effect, but look at the session, the server, its files or tables, or repeat their arguments in error texts. */
const looking = words(`
  connection_id current_role current_user database found_rows last_insert_id lastval row_count schema session_user system_user user version
  uuid_short convert_tz decode_histogram des_decrypt des_encrypt encrypt old_password password schemas binlog_gtid_pos gtid_subset
  gtid_subtract wsrep_last_seen_gtid wsrep_last_written_gtid extractvalue updatexml match st_asgeojson st_astext st_contains st_distance
  st_distance_sphere st_geomfromgeojson st_geomfromtext st_intersects st_pointfromtext st_srid st_within st_x st_y`);

/** The verdict of an operator, or of a function by its name in lower case. All are the server's own; stored functions are classified elsewhere. */
export function builtInOfMysql(kind: 'functions' | 'operators' | 'types', name: string): BuiltIn {
  if (kind !== 'functions') return name === '@' ? 'looks' : name === ':=' ? null : 'computes';
  if (computing.has(name)) return 'computes';
  return looking.has(name) ? 'looks' : null;
}
