import { words } from '../../lib/words.js';

/** What a built-in does: `computes` from its arguments (or reads the clock), also `looks` at something else; null = in neither list. */
export type BuiltIn = 'computes' | 'looks' | null;

/**
 * Functions of `pg_catalog` of which every overload computes its result from its arguments alone: no table, catalogue, file, other session or effect,
 * and no setting except those that the session fixes. Listed by name, because a text does not tell the types of its arguments; a name that is missing
 * is not considered harmless. A test walks the real server's `pg_proc` and demands a verdict for each function. Volatile functions are listed when
 * they only read the clock or draw random numbers. Stable ones are listed when only the time zone, a format, or the output of a type with its own
 * verdict makes them stable. Two overloads are let through: `age(xid)` counts transactions, and `length(bytea, name)` looks up a conversion, which
 * only a superuser can create.
 */
const computing = words(`
  abs acos acosd acosh asin asind asinh atan atan2 atan2d atand atanh cbrt ceil ceiling cos cosd cosh cot cotd degrees div erf erfc exp
  factorial floor gamma gcd lcm lgamma ln log log10 min_scale mod numeric numeric_exp numeric_ln numeric_log numeric_sqrt pi pow power radians
  round scale sign sin sind sinh sqrt tan tand tanh trim_scale trunc width_bucket to_bin to_hex to_oct pg_size_bytes pg_size_pretty
  array_sample array_shuffle gen_random_uuid random random_normal uuidv4 uuidv7 uuid_extract_timestamp uuid_extract_version
  ascii bit_count bit_length btrim casefold char_length character_length chr concat concat_ws crc32 crc32c decode encode format get_bit
  get_byte initcap is_normalized left length like like_escape lower lpad ltrim md5 normalize notlike octet_length overlay parse_ident position
  quote_ident quote_literal quote_nullable regexp_count regexp_instr regexp_like regexp_match regexp_matches regexp_replace
  regexp_split_to_array regexp_split_to_table regexp_substr repeat replace reverse right rpad rtrim set_bit set_byte sha224 sha256 sha384
  sha512 similar_escape similar_to_escape split_part starts_with string_to_array string_to_table strpos substr substring to_ascii translate
  unicode_assigned unicode_version icu_unicode_version unistr upper bpchar text varchar name char bytea bit varbit bool
  age clock_timestamp date date_add date_bin date_part date_subtract date_trunc extract isfinite justify_days justify_hours
  justify_interval make_date make_interval make_time make_timestamp make_timestamptz now overlaps statement_timestamp time timeofday timestamp
  timestamptz timetz timezone to_char to_date to_number to_timestamp transaction_timestamp interval
  float4 float8 int2 int4 int8 oid money cash_words num_nonnulls num_nulls
  array_append array_dims array_fill array_length array_lower array_ndims array_position array_positions array_prepend array_remove array_cat
  array_replace array_reverse array_sort array_to_string array_upper cardinality generate_series generate_subscripts trim_array unnest
  array_to_json json_array_elements json_array_elements_text json_array_length json_build_array json_build_object json_each json_each_text
  json_extract_path json_extract_path_text json_object json_object_keys json_strip_nulls json_typeof jsonb_array_elements
  jsonb_array_elements_text jsonb_array_length jsonb_build_array jsonb_build_object jsonb_each jsonb_each_text jsonb_extract_path
  jsonb_extract_path_text jsonb_insert jsonb_object jsonb_object_keys jsonb_path_exists jsonb_path_exists_tz jsonb_path_match
  jsonb_path_match_tz jsonb_path_query jsonb_path_query_array jsonb_path_query_array_tz jsonb_path_query_first jsonb_path_query_first_tz
  jsonb_path_query_tz jsonb_pretty jsonb_set jsonb_set_lax jsonb_strip_nulls jsonb_typeof row_to_json to_json to_jsonb
  daterange datemultirange int4range int4multirange int8range int8multirange numrange nummultirange tsrange tsmultirange tstzrange
  tstzmultirange isempty lower_inc lower_inf upper_inc upper_inf multirange range_merge
  abbrev area bound_box box broadcast center cidr circle diagonal diameter family height host hostmask inet_merge inet_same_family
  isclosed ishorizontal isopen isparallel isperp isvertical line lseg macaddr macaddr8 macaddr8_set7bit masklen netmask network npoints path
  pclose point polygon popen radius set_masklen slope width
  array_to_tsvector numnode querytree setweight strip ts_delete ts_filter ts_rank ts_rank_cd tsquery_phrase tsvector_to_array
  any_value array_agg avg bit_and bit_or bit_xor bool_and bool_or corr count covar_pop covar_samp every json_agg json_agg_strict
  json_object_agg json_object_agg_strict json_object_agg_unique json_object_agg_unique_strict jsonb_agg jsonb_agg_strict jsonb_object_agg
  jsonb_object_agg_strict jsonb_object_agg_unique jsonb_object_agg_unique_strict max min mode percentile_cont percentile_disc range_agg
  range_intersect_agg regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy stddev stddev_pop
  stddev_samp string_agg sum var_pop var_samp variance
  cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank row_number bernoulli system pg_lsn`);

/** Those of either list that may give another value each time, in every overload or in some. */
const volatile = words(`
  array_sample array_shuffle clock_timestamp currval gen_random_uuid lastval pg_database_size pg_indexes_size pg_is_in_recovery pg_relation_size
  pg_sequence_last_value pg_table_size pg_tablespace_size pg_total_relation_size pg_xact_commit_timestamp pg_xact_status random random_normal
  timeofday txid_status uuidv4 uuidv7 current_query`);
export const isVolatile = (name: string): boolean => volatile.has(name);

/**
 * These have no effect, but look at settings, the session, catalogues, sequences or sizes, or pull in machinery (XML, text search, types by name). Those
 * that read a text as a type given by name are missing: a domain's check may call anything.
 */
const looking = words(`
  current_database current_query current_schema current_schemas current_setting current_user getdatabaseencoding
  getpgusername session_user system_user version pg_client_encoding pg_char_to_encoding pg_encoding_to_char pg_encoding_max_length
  currval lastval pg_get_serial_sequence pg_sequence_last_value pg_backend_pid inet_client_addr inet_client_port inet_server_addr
  inet_server_port pg_conf_load_time pg_postmaster_start_time pg_is_in_recovery pg_my_temp_schema pg_is_other_temp_schema pg_trigger_depth
  pg_current_snapshot pg_current_xact_id_if_assigned pg_xact_status pg_snapshot_xip pg_snapshot_xmax pg_snapshot_xmin pg_visible_in_snapshot
  txid_current_if_assigned txid_current_snapshot txid_snapshot_xip txid_snapshot_xmax txid_snapshot_xmin txid_status txid_visible_in_snapshot
  mxid_age pg_xact_commit_timestamp
  has_any_column_privilege has_column_privilege has_database_privilege has_foreign_data_wrapper_privilege has_function_privilege
  has_language_privilege has_largeobject_privilege has_parameter_privilege has_schema_privilege has_sequence_privilege has_server_privilege
  has_table_privilege has_tablespace_privilege has_type_privilege pg_has_role row_security_active
  pg_column_compression pg_column_size pg_database_size pg_indexes_size pg_relation_size pg_table_size pg_tablespace_size
  pg_total_relation_size
  col_description obj_description shobj_description format_type pg_typeof pg_basetype pg_collation_for pg_get_constraintdef pg_get_expr
  pg_get_functiondef pg_get_indexdef pg_get_keywords pg_get_partkeydef pg_get_ruledef pg_get_triggerdef pg_get_userbyid pg_get_viewdef
  pg_describe_object pg_partition_root regclass to_regclass to_regcollation to_regnamespace to_regoper
  to_regoperator to_regproc to_regprocedure to_regrole to_regtype to_regtypemod
  enum_first enum_last enum_range convert convert_from convert_to
  get_current_ts_config json_to_tsvector jsonb_to_tsvector phraseto_tsquery plainto_tsquery to_tsquery to_tsvector ts_debug ts_headline
  ts_lexize ts_parse ts_token_type websearch_to_tsquery
  json_populate_record json_populate_recordset json_to_record json_to_recordset jsonb_populate_record jsonb_populate_record_valid
  jsonb_populate_recordset jsonb_to_record jsonb_to_recordset
  xml xml_is_well_formed xml_is_well_formed_content xml_is_well_formed_document xmlagg xmlcomment xmlconcat2 xmlexists xmltext xpath
  xpath_exists`);

/** Operators of `pg_catalog`. `@@` and its former name are left out because they look at text search configurations. */
const computingOperators = words(`
  !! !~ !~* !~~ !~~* # ## #- #> #>> % & && &< &<| &> * *< *<= *<> *= *> *>= + - -> ->> -|- / < <-> << <<= <<| <= <> <@ <^ = > >= >> >>=
  >^ ? ?# ?& ?- ?-| ?| ?|| @ @-@ @> @? ^ ^@ | |&> |/ |>> || ||/ ~ ~* ~<=~ ~<~ ~= ~>=~ ~>~ ~~ ~~*`);
const lookingOperators = words('@@ @@@');

/** Types of `pg_catalog` whose input and output only compute. An array follows its element type. */
const computingTypes = words(`
  any anyarray anycompatible anycompatiblearray anycompatiblemultirange anycompatiblenonarray anycompatiblerange anyelement anyenum
  anymultirange anynonarray anyrange bit bool box bpchar bytea char cidr circle date datemultirange daterange float4 float8 inet int2
  int2vector int4 int4multirange int4range int8 int8multirange int8range interval json jsonb jsonpath line lseg macaddr macaddr8 money name
  numeric nummultirange numrange oid oidvector path pg_lsn point polygon record text tid time timestamp timestamptz timetz tsmultirange
  tsquery tsrange tstzmultirange tstzrange tsvector unknown uuid varbit varchar void xid xid8`);
const lookingTypes = words(`
  aclitem cid pg_snapshot refcursor regclass regcollation regconfig regdictionary regnamespace regoper regoperator regproc regprocedure
  regrole regtype txid_snapshot xml`);

const tables = {
  functions: [computing, looking],
  operators: [computingOperators, lookingOperators],
  types: [computingTypes, lookingTypes],
} as const;

/** The verdict of one name of `pg_catalog`; an array has that of its elements. */
export function builtInOfPostgres(kind: keyof typeof tables, name: string): BuiltIn {
  const [computes, looks] = tables[kind];
  const asked = kind === 'types' ? name.replace(/^_|\[\]$/g, '') : name;
  if (computes.has(asked)) return 'computes';
  return looks.has(asked) ? 'looks' : null;
}
