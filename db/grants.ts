/** SQL for a stored grant: the JSON in `parameter` plus the current instant. */
export const granted = (parameter: string) =>
  `(${parameter}::jsonb || jsonb_build_object('at', to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))`;
