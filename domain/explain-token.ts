import { signedFields, type TokenFields } from './execution-token.js';

export type ExplainKind = 'dry_run' | 'preflight';

/** What an explain token says of the job it is for (HD-81). */
export interface ExplainFields {
  jobId: string;
  kind: ExplainKind;
  database: string;
  environment: string;
  sqlHash: string;
  agentId: string;
}

/** Bytes of an explain token's signature, as text: its first line keeps it apart from every other text that is signed with the same key. */
export const explainMessage = (fields: TokenFields): string => `svc-explain-token-v1\n${signedFields(fields, 'signature')}`;

/** The members of a token that must be those of its job. */
export const explainMembers = (f: ExplainFields): [string, string][] => [
  ['job_id', f.jobId],
  ['kind', f.kind],
  ['database', f.database],
  ['environment', f.environment],
  ['agent_id', f.agentId],
  ['sql_hash', f.sqlHash],
];
