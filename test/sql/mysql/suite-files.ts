/** Test files of MariaDB that mostly read, without those that need special builds or take the server long. */
export const suiteFiles: readonly string[] = `
  func_str func_time gis func_math func_json brackets dyncol group_by win xml func_misc
  func_in cast func_regexp_pcre cte_nonrecursive table_value_constr fetch_first show_check distinct row having null
  intersect_all temporal_literal case olap func_test func_extract bigint func_like select_found`
  .trim()
  .split(/\s+/);
