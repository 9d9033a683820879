import type { Operation } from '../policies.js';
import type { Dialect } from '../statement.js';
import type { PolicySnapshot } from '../workflow-policy.js';

/** The ten statuses, as stored and shown (D23). */
export const STATUSES = [
  'pending',
  'approved',
  'dispatched',
  'running',
  'executed',
  'failed',
  'rejected',
  'cancelled',
  'expired',
  'execution_lost',
] as const;
export type Status = (typeof STATUSES)[number];

/** All instants of this folder are milliseconds since the epoch, by Postgres's clock. */
export type Instant = number;

export interface Decision {
  step: number;
  userId: string;
  action: 'approve' | 'reject';
  selector: string;
  comment: string | null;
  at: Instant;
  /** The API token that it was made with; null for a sign-in. */
  tokenId: string | null;
}

/** Why a request is cancelled: somebody asked for it, or its owner's account was suspended or deleted (ST-19). */
export type CancelCause = 'requested' | 'user_suspended' | 'user_deleted';

export const OUTCOMES = ['committed', 'already_applied', 'rolled_back', 'not_started', 'partial', 'unknown'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Whether this outcome says that the whole change is there. */
export const isSuccess = (outcome: Outcome | null): boolean => outcome === 'committed' || outcome === 'already_applied';

/** How an agent writes markers. With 2, each marker carries its execution id and lives in the markers' own schema (HD-40, HD-41). */
export type MarkerForm = 1 | 2;

/** An attempt whose outcome is unknown. */
export interface UnresolvedAttempt {
  fence: number;
  executionId: string;
  agentId: string;
  provable: boolean;
  markerForm: MarkerForm;
  claimedAt: Instant;
}

/** One claim of a dispatch by one agent, with the fields that rules need. */
export interface Execution {
  id: string;
  fence: number;
  agentId: string;
  claimId: string | null;
  mutating: boolean;
  marker: 'required' | 'none';
  markerForm: MarkerForm;
  status: 'running' | 'completed' | 'failed';
  lost: boolean;
  unresolved: boolean;
  claimedAt: Instant;
  leaseExpiresAt: Instant;
  /** From the last heartbeat, or the claim, to `leaseExpiresAt`. */
  leaseMs: number;
  windowSecs: number;
  outcome: Outcome | null;
  /** Canonical text of the accepted submission; null before there is one (AG-43). */
  submission: string | null;
}

/** A part of a stored request whose authentication code does not match (HD-50). */
export type BrokenPart = 'request' | 'state' | 'decision';

/** A stored request with its decisions and newest execution: everything that a move is judged on. */
export interface StoredRequest {
  id: string;
  version: number;
  status: Status;
  requester: string;
  requesterRole: string;
  database: string;
  environment: string;
  operation: Operation;
  dialect: Dialect | null;
  detail: string;
  emergency: boolean;
  /** Why it passed without approvals; null when its steps must be fulfilled. */
  passedBy: 'policy' | 'break_glass' | null;
  noResultStore: boolean;
  /** How many rows a write that passed by risk may change (HD-25); null for all others. */
  maxAffectedRows: number | null;
  /** The schemas used to resolve the names of its tables (HD-31); null where unknown. */
  searchPath: readonly string[] | null;
  shareSelectors: string[];
  /** The workflow policy that the request was made under; null when an emergency matched none. */
  policy: PolicySnapshot | null;
  policyRevision: string;
  approvalDigest: string;
  currentStep: number;
  fence: number;
  createdAt: Instant;
  updatedAt: Instant;
  expiresAt: Instant | null;
  approvedAt: Instant | null;
  dispatchBy: Instant | null;
  dispatchedAt: Instant | null;
  /** The end of the dispatch clock; null also while a migration waits for another one (AG-54). */
  dispatchDeadline: Instant | null;
  resolvedAt: Instant | null;
  claimedBy: string | null;
  cancelRequestedAt: Instant | null;
  cancelledBy: string | null;
  cancelReason: string | null;
  cancelCause: CancelCause | null;
  cancelledWhileLost: boolean;
  lostReason: string | null;
  failureReason: string | null;
  decisions: Decision[];
  execution: Execution | null;
  /** Executions that completed or failed. Lost ones do not count (RQ-83). */
  finishedExecutions: number;
  /** Fences of mutating attempts whose outcome is unknown (AG-57), ascending. */
  unresolved: UnresolvedAttempt[];
  /** All executions, by fence. */
  attempts: Execution[];
  /** Checked only under the lock of a move. */
  broken: BrokenPart | null;
}

export const FINAL: ReadonlySet<Status> = new Set(['executed', 'failed', 'rejected', 'cancelled', 'expired', 'execution_lost']);

export const wentWrong = (status: Status): boolean => FINAL.has(status) && status !== 'executed';

/** Only one of these runs at a time on a (database, environment) (MI-30). */
export const isMutatingMigration = (operation: Operation): boolean => isMutating(operation) && operation !== 'execute_dml';

export const isMutating = (operation: Operation): boolean => operation !== 'execute_select' && operation !== 'migrate_status';
