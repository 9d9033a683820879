import type { Caller } from '../../../domain/caller.js';
import { judge } from '../../../domain/request/judge.js';
import type { DispatchFacts, MarkerMismatch, Move, ResumePolicy, Submission } from '../../../domain/request/moves.js';
import type { Execution, Outcome, StoredRequest } from '../../../domain/request/types.js';
import type { Verdict } from '../../../domain/request/verdict.js';
import { actorOf, agent, user } from '../../support/callers.js';
import { now, storedExecution } from '../../support/stored-request.js';

type Of<Kind extends Move['kind']> = Extract<Move, { kind: Kind }>;

export const facts: DispatchFacts = { digestIntact: true, foundDigest: 'a'.repeat(64), ownerActive: true, pairUnchanged: true };
const policy: ResumePolicy = { maxExecutions: 3, retryOnFailure: true };
export const tampered = { digestIntact: false, foundDigest: 'b'.repeat(64) };

const by = (caller: Caller) => ({ caller, actor: actorOf(caller) });

export const approve = (caller: Caller, over: Partial<Of<'approve'>> = {}): Of<'approve'> => ({
  ...by(caller),
  kind: 'approve',
  selector: null,
  comment: null,
  digestIntact: true,
  foundDigest: facts.foundDigest,
  ...over,
});

export const reject = (caller: Caller, comment: string | null = null): Of<'reject'> => ({
  ...by(caller),
  kind: 'reject',
  comment,
});

export const cancel = (caller: Caller, reason: string | null = null): Of<'cancel'> => ({ ...by(caller), kind: 'cancel', reason });

/** An administrator suspends or deletes the owner (ST-19). */
export const ownerGone = (cause: Of<'owner_gone'>['cause'] = 'user_suspended'): Of<'owner_gone'> => ({
  kind: 'owner_gone',
  actor: actorOf(user('root')),
  cause,
});

export const resume = (caller: Caller, over: Partial<Of<'resume'>> = {}): Of<'resume'> => ({
  ...by(caller),
  kind: 'resume',
  reason: null,
  policy,
  facts,
  dispatchMs: 300_000,
  ...over,
});

export const claim = (over: Partial<Of<'claim'>> = {}): Of<'claim'> => ({
  kind: 'claim',
  actor: actorOf(agent('agent-1')),
  agent: { id: 'agent-1', inScope: true, fences: true, marker: true, bounds: true, markerForm: 2 },
  facts,
  execution: { id: storedExecution().id, claimId: null, leaseMs: 60_000, windowSecs: 3600 },
  ...over,
});

/** A marker row of nobody's attempt (HD-41). */
export const strangeMarker: MarkerMismatch = { fence: 77, execution_id: 'nobody', step: '', state: 'done' };

const succeeded: readonly Outcome[] = ['committed', 'already_applied'];

/** What an agent reports: success as the outcome says, and a text that equal submissions share. */
export function submission(outcome: Outcome, over: Partial<Submission> = {}): Submission {
  const success = succeeded.includes(outcome);
  return {
    success,
    outcome,
    fence: null,
    cancelled: null,
    appliedExecutionId: null,
    markerMismatches: [],
    text: `${outcome} ${over.cancelled ?? null}`,
    appliedFence: null,
    rowsAffected: null,
    durationMs: null,
    truncated: null,
    errorMessage: success ? null : 'it broke',
    kept: 'empty',
    auditError: { errorClass: 'database', errorMessage: null },
    steps: {},
    ...over,
  };
}

/** The result of an execution as its own agent sends it. */
export function result(
  reported: Execution,
  outcome: Outcome,
  over: Partial<Submission> = {},
  agentId = reported.agentId,
): Of<'result'> {
  return {
    kind: 'result',
    actor: actorOf(agent(agentId)),
    agentId,
    reported,
    submission: submission(outcome, over),
  };
}

const status = { 'validation.failed': '400', 'auth.forbidden': '403' } as Record<string, string>;

/** What came of a move, in one word: the next status, `nothing`, or the HTTP status of a refusal; `409 failed` for a refusal that moves. */
export function outcomeOf(request: StoredRequest, { change, refusal }: Verdict): string {
  const next = change?.state.status ?? request.status;
  if (refusal === null) return change === null ? 'nothing' : next;
  const code = status[refusal.code] ?? (refusal.code.endsWith('.gone') ? '410' : '409');
  return change === null ? code : `${code} ${next}`;
}

export const ask = (request: StoredRequest, move: Move, at = now): string => outcomeOf(request, judge(request, move, at));

/** The events of an accepted move, in order. */
export const eventsOf = (verdict: Verdict): string[] => verdict.change?.events.map(({ type }) => type) ?? [];
