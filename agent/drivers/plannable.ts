/** Whether `explain_functions` of the pair names a function; an entry without a schema means it wherever it lies, a null schema any. */
export const isNamed = (named: readonly string[], schema: string | null, name: string): boolean =>
  named.includes(name) || (schema === null ? named.some((one) => one.endsWith(`.${name}`)) : named.includes(`${schema}.${name}`));
