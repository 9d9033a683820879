import type { NewRequest } from '../../domain/request/new-request.js';
import { decideAutoApproval } from '../../domain/workflow-policy.js';
import { actorOf, user } from './callers.js';
import { storedRequest, workflowSnapshot } from './stored-request.js';

const usual = { emergency: false, requireApproval: false, bounded: true };
const creationInput: NewRequest['input'] = {
  asked: 'execute_select',
  database: 'app',
  environment: 'production',
  detail: ' select 1 ;\n',
  reason: 'because',
  idempotencyKey: null,
  metadata: '{}',
  emergency: false,
  allowDdl: false,
  noResultStore: true,
  requireApproval: false,
  shareWith: ['bob'],
  shareSelectors: ['user:bob'],
};

/** A read by alice that needs an approval. */
export const newRequest = (over: Partial<NewRequest> = {}): NewRequest => ({
  id: storedRequest().id,
  input: creationInput,
  actor: actorOf(user('alice')),
  requester: 'alice',
  requesterRole: 'requester',
  operation: 'execute_select',
  dialect: 'postgresql',
  statementType: 'SELECT',
  risk: { level: 'unknown', factors: ['schema_not_synced'], schemaStatus: 'not_synced' },
  review: { policyId: 'builtin-default', findingsCount: 2, parseFailed: false },
  bypass: null,
  dirSha256: null,
  searchPath: null,
  context: { tables: null, sqlReview: null, risk: null, schemaSnapshotCollectedAt: null },
  explain: [],
  policy: workflowSnapshot(),
  approval: decideAutoApproval(null, 'unknown', usual),
  redactedDetail: 'select ?',
  fingerprint: 'f'.repeat(64),
  detailFingerprint: null,
  detailRaw: null,
  policyRevision: 'r7',
  approvalDigest: 'd'.repeat(64),
  approvalTtlSecs: 99,
  dispatchMs: 300_000,
  ...over,
});

const always = { mode: 'always', risk: null, allowReadOnly: false, allowSafeDdl: false, maxEstimatedRows: 0 } as const;

/** What makes it pass by policy. */
export const passedByPolicy = { approval: decideAutoApproval(always, 'unknown', usual) };

/** What makes it an emergency. */
export const emergency = {
  input: { ...creationInput, emergency: true },
  approval: decideAutoApproval(null, 'unknown', { ...usual, emergency: true }),
};
