import type { Operation } from '../policies.js';
import type { Dialect } from '../statement.js';
import type { PolicySnapshot } from '../workflow-policy.js';

/** The ten statuses that are stored and shown (D23). */
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
  /** The API token it was made with; null for a sign-in. */
  tokenId: string | null;
}

/** Why a request is cancelled: somebody asked for it, or its owner lost the account (ST-19). */
export type CancelCause = 'requested' | 'user_suspended' | 'user_deleted';

export type Outcome = 'committed' | 'already_applied' | 'rolled_back' | 'not_started' | 'partial' | 'unknown';

/** How an agent writes markers: 2 where each carries its execution id and lies in the markers' own schema (HD-40, HD-41). */
export type MarkerForm = 1 | 2;

/** An attempt whose outcome nobody knows. */
export interface UnresolvedAttempt {
  fence: number;
  executionId: string;
  provable: boolean;
  markerForm: MarkerForm;
}

/** One claim of a dispatch by one agent, as far as rules look at it. */
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
  leaseExpiresAt: Instant;
  windowSecs: number;
  outcome: Outcome | null;
  /** Canonical text of the accepted submission, null while there is none (AG-43). */
  submission: string | null;
}

/** What every attempt says of whether the request may run again. */
export type Attempt = Pick<Execution, 'id' | 'fence' | 'mutating' | 'marker' | 'status' | 'lost' | 'unresolved'>;

/** A part of a stored request whose authentication code does not fit (HD-50). */
export type BrokenPart = 'request' | 'state' | 'decision';

/** A stored request with its decisions and newest execution: everything a move is judged on. */
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
  /** What let it pass without approvals; null when its steps have to be fulfilled. */
  passedBy: 'policy' | 'break_glass' | null;
  noResultStore: boolean;
  /** Rows that it may change, of a write that passed by risk; null of all others (HD-25). */
  maxAffectedRows: number | null;
  /** The schemas by which the names of its tables were resolved (HD-31); null where that was not known. */
  searchPath: readonly string[] | null;
  shareSelectors: string[];
  workflow: PolicySnapshot | null;
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
  /** Executions that completed or failed; lost ones do not count (RQ-83). */
  finishedExecutions: number;
  /** Fences of mutating attempts whose outcome nobody knows (AG-57), ascending. */
  unresolved: UnresolvedAttempt[];
  /** All of them, by fence. */
  attempts: Attempt[];
  /** Looked at under the lock of a move only. */
  broken: BrokenPart | null;
}

export const FINAL: ReadonlySet<Status> = new Set(['executed', 'failed', 'rejected', 'cancelled', 'expired', 'execution_lost']);

/** Of these one runs at a time on a (database, environment) (MI-30). */
export const isMutatingMigration = (operation: Operation): boolean => isMutating(operation) && operation !== 'execute_dml';

export const isMutating = (operation: Operation): boolean => operation !== 'execute_select' && operation !== 'migrate_status';
