/**
 * Whether the database's `explain_functions` names a function. An entry without a schema matches every schema; a null schema
 * matches every entry of that name.
 */
export const isNamed = (named: readonly string[], schema: string | null, name: string): boolean =>
  named.includes(name) || (schema === null ? named.some((one) => one.endsWith(`.${name}`)) : named.includes(`${schema}.${name}`));
