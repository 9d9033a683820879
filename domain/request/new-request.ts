import type { Actor } from '../audit/draft.js';
import type { Operation, PolicyVersion } from '../policies.js';
import type { AutoApproval, PolicySnapshot, RiskLevel } from '../workflow-policy.js';
import type { CollectedContext } from './context.js';
import type { StoredRequest } from './types.js';

/** What the caller asked for, after defaults and aliases (requests.md section 2). */
export interface CreationInput {
  database: string;
  environment: string;
  /** The operation as it was asked for; what the text is decides (RQ-20). */
  asked: Operation;
  detail: string;
  reason: string | null;
  idempotencyKey: string | null;
  /** The JSON text as it was sent. */
  metadata: string;
  emergency: boolean;
  allowDdl: boolean;
  noResultStore: boolean;
  requireApproval: boolean;
  shareWith: string[];
  /** Normalised, sorted, without repeats (RQ-10). */
  shareSelectors: string[];
}

/** A statement that EXPLAIN accepts; `error` is set when no agent is asked to plan it. */
export interface Explainable {
  sql: string;
  error: string | null;
}

/** What a detail turned out to be (RQ-20, MI-15 to MI-17), and how it may pass. */
export interface AssessedDetail {
  operation: Operation;
  statementType: string;
  risk: { level: RiskLevel; factors: string[]; schemaStatus: string };
  review: { policyId: string | null; findingsCount: number; parseFailed: boolean };
  /** What `allow_ddl` lifted (BG-3); null when it lifted nothing. */
  bypass: { statementCount: number } | null;
  /** The state of the directory that the bundle was made from, as events show it (MI-12); null for other operations. */
  dirSha256: string | null;
  searchPath: StoredRequest['searchPath'];
  context: CollectedContext;
  /** The statements that agents are asked to explain (AG-65), and those they are not asked about, with the reason. */
  explain: readonly Explainable[];
  /** The literal-free text of AU-51, or the summary of a migration (AU-52). */
  redactedDetail: string;
  policy: PolicySnapshot | null;
  approval: AutoApproval;
}

/** A request that has passed the checks of its creation and is about to be stored. */
export interface NewRequest extends AssessedDetail {
  id: string;
  input: CreationInput;
  actor: Actor;
  requester: string;
  requesterRole: string;
  dialect: StoredRequest['dialect'];
  /** Equal for a repeated creation with the same idempotency key (RQ-31). */
  fingerprint: string;
  /** The detail as its audit events show it (AU-50). */
  detailFingerprint: string | null;
  detailRaw: string | null;
  policyRevision: string;
  /** For the decision trace; left out where they are not known. */
  policyVersions?: { workflow: PolicyVersion | null; review: PolicyVersion | null };
  approvalDigest: string;
  /** Used for TT-2 where no workflow policy sets a time. */
  approvalTtlSecs: number;
  dispatchMs: number;
}
