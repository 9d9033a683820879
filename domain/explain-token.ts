import { signedFields, type TokenFields } from './execution-token.js';

export type ExplainKind = 'dry_run' | 'preflight';

/** What an explain token says about its job (HD-81). */
export interface ExplainFields {
  jobId: string;
  kind: ExplainKind;
  database: string;
  environment: string;
  sqlHash: string;
  agentId: string;
}

/** Bytes of an explain token's signature, as text. The first line separates it from every other text signed with the same key. */
export const explainMessage = (fields: TokenFields): string => `svc-explain-token-v1\n${signedFields(fields, 'signature')}`;

/** The token members that must equal those of its job. */
export const explainMembers = (f: ExplainFields): [string, string][] => [
  ['job_id', f.jobId],
  ['kind', f.kind],
  ['database', f.database],
  ['environment', f.environment],
  ['agent_id', f.agentId],
  ['sql_hash', f.sqlHash],
];
