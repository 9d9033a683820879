import type { decisionTrace } from '../domain/request/creation.js';
import type { StoredRequest } from '../domain/request/types.js';
import type { Queryable } from './client.js';
import { type ContextColumns, contextColumns } from './request-contexts.js';
import { findState } from './request-state.js';

/** What show adds to a request's state. */
export interface Shown extends ContextColumns {
  reason: string | null;
  shareWith: string[];
  requireApproval: boolean;
  metadata: string;
  idempotencyKey: string | null;
  decisionTrace: ReturnType<typeof decisionTrace>;
}

/** A request as show tells it, with PostgreSQL's instant of reading it. */
export interface FoundShown {
  request: StoredRequest & Shown;
  now: number;
}

/** Undefined if the id is not stored. */
export async function findShown(db: Queryable, id: string): Promise<FoundShown | undefined> {
  return (await findState(db, id, shownColumns)) as FoundShown | undefined;
}

const shownColumns = `r.reason, r.share_with as "shareWith", r.require_approval as "requireApproval", r.metadata, r.idempotency_key as "idempotencyKey", r.decision_trace as "decisionTrace",
  ${contextColumns}`;
