import type { Actor } from '../audit/draft.js';
import type { Caller } from '../caller.js';
import type { CancelCause, Execution, MarkerForm, Outcome } from './types.js';
import type { ExecutionEnd } from './verdict.js';
import type { ClockKind } from './view.js';

/** What the process found out for a move, in addition to the stored rows. */
export interface DispatchFacts {
  /** The recomputed digest equals the stored one (ET-13). */
  digestIntact: boolean;
  foundDigest: string;
  ownerActive: boolean;
  /** The pair is still registered, with the dialect that the SQL was judged under (RQ-86). */
  pairUnchanged: boolean;
}

interface ByCaller {
  actor: Actor;
  caller: Caller;
}

export interface ResumePolicy {
  maxExecutions: number;
  retryOnFailure: boolean;
}

/** What the agent reported in its last poll (AG-30, AG-33). */
export interface AgentFacts {
  id: string;
  inScope: boolean;
  fences: boolean;
  /** The agent rolls back a write that changes more rows than its claim allows (HD-25). */
  bounds: boolean;
  marker: boolean;
  markerForm: MarkerForm;
}

/** A marker row that fits no attempt, as its agent found it. Texts are truncated. */
export interface MarkerMismatch {
  fence: number;
  execution_id: string;
  step: string;
  state: string;
}

export interface Submission extends ExecutionEnd {
  fence: number | null;
  outcome: Outcome;
  cancelled: boolean | null;
  /** Set with `already_applied`: the execution whose marker was found; null from an agent that does not report it. */
  appliedExecutionId: string | null;
  /** Marker rows of no attempt of this request (HD-41). */
  markerMismatches: MarkerMismatch[];
  /** Canonical text of the fields that decide whether two submissions are the same (AG-43). */
  text: string;
  /** What audit events may say of the error (AU-53). */
  auditError: { errorClass: string; errorMessage: string | null };
  /** What audit events may say of a migration's steps (MI-44). */
  steps: Record<string, unknown>;
}

/** What the caller was shown of the request (CO-32). */
interface Shown {
  expectedDigest?: string | null;
}

/** Every move of requests.md section 7 after creation. `judge` decides all of them. */
export type Move =
  | (ByCaller &
      Shown & { kind: 'approve'; selector: string | null; comment: string | null; expectedStep?: number | null } & Pick<
        DispatchFacts,
        'digestIntact' | 'foundDigest'
      >)
  | (ByCaller & Shown & { kind: 'reject'; comment: string | null })
  | (ByCaller & { kind: 'cancel'; reason: string | null })
  | { kind: 'owner_gone'; actor: Actor; cause: Exclude<CancelCause, 'requested'> }
  | (ByCaller & {
      kind: 'resume';
      reason: string | null;
      expectedFence?: number | null;
      policy: ResumePolicy;
      facts: DispatchFacts;
      dispatchMs: number;
    })
  | { kind: 'clock'; clock: ClockKind }
  | { kind: 'lease'; executionId: string }
  | {
      kind: 'claim';
      actor: Actor;
      agent: AgentFacts;
      facts: DispatchFacts;
      execution: { id: string; claimId: string | null; leaseMs: number; windowSecs: number };
    }
  | { kind: 'result'; actor: Actor; agentId: string; reported: ReportedExecution; submission: Submission };

/** The execution that a result names, newest or older, as it is under the lock. */
export type ReportedExecution = Pick<Execution, 'id' | 'agentId' | 'fence' | 'submission'>;
