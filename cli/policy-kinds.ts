/** The values of `policy list --kind`. */
export const policyKinds = ['workflow', 'execution', 'result', 'sql-review'] as const;
export type PolicyKind = (typeof policyKinds)[number];
