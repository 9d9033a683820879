/** The values of `policy list --kind`. */
export const policyKinds = ['workflow', 'execution', 'result', 'sql-review', 'notification'] as const;
export type PolicyKind = (typeof policyKinds)[number];
