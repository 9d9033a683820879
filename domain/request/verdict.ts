import type { AuditDraft } from '../audit/draft.js';
import type { GatewayError } from '../errors.js';
import type { Decision, Execution, StoredRequest } from './types.js';

export type Signal = 'approval' | 'rejection' | 'cancellation' | 'resumption' | 'completion' | 'change';

/** The reported end of an execution, as written to its row. */
export interface ExecutionEnd {
  success: boolean;
  appliedFence: number | null;
  rowsAffected: string | null;
  durationMs: number | null;
  truncated: boolean | null;
  errorMessage: string | null;
  /** Where its data went (RS-43). */
  kept: 'object' | 'empty' | 'relay';
}

/** Changed fields of an execution. */
export interface ExecutionChange {
  id: string;
  set: Partial<Pick<Execution, 'status' | 'lost' | 'unresolved' | 'outcome' | 'submission'>>;
  end: ExecutionEnd | null;
}

/** What a move writes: the changed fields and the rows that go with them, in one transaction. */
export interface Change {
  state: Partial<StoredRequest>;
  events: AuditDraft[];
  /** News for the workflow; null when nothing it shows has changed. */
  signal: { name: Signal; actor: string; step: number | null } | null;
  /** How long the news may wait for newer news of the same request to replace it. */
  lingerMs: number;
  decision: Decision | null;
  /** Of the newest execution, or of the older one that a late result names. */
  execution: ExecutionChange | null;
  /** Of an older one whose success was noted, when that decides what the end of the newest leads to (RQ-73). */
  proven: ExecutionChange | null;
  /** Fences that this move settles (AG-59). */
  settled: number[];
}

/** A change, a refusal, both (what a refusal finds out is kept: ET-13, AG-44), or neither: there is nothing to do. */
export interface Verdict {
  change: Change | null;
  refusal: GatewayError | null;
}

export const refuse = (refusal: GatewayError): Verdict => ({ change: null, refusal });
export const nothing: Verdict = { change: null, refusal: null };

export function changed(
  state: Partial<StoredRequest>,
  events: AuditDraft[],
  signal: Change['signal'],
  rest: Partial<Change> = {},
): Verdict {
  return {
    change: { state, events, signal, lingerMs: 0, decision: null, execution: null, proven: null, settled: [], ...rest },
    refusal: null,
  };
}
