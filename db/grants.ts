/** A stored grant with its instant, from the parameter that holds it as JSON. */
export const granted = (parameter: string) =>
  `(${parameter}::jsonb || jsonb_build_object('at', to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))`;
