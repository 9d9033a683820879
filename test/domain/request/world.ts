import type { AuditDraft } from '../../../domain/audit/draft.js';
import type { SealedEvent } from '../../../domain/audit/event.js';
import type { Caller } from '../../../domain/caller.js';
import { judge } from '../../../domain/request/judge.js';
import type { Move } from '../../../domain/request/moves.js';
import type { Execution, StoredRequest } from '../../../domain/request/types.js';
import type { Verdict } from '../../../domain/request/verdict.js';

/** Everything stored about one request, and its history. */
export interface World {
  request: StoredRequest;
  /** All of them, oldest first. */
  executions: Execution[];
  events: AuditDraft[];
}

/** Stores what a verdict says, as the database does; totals are read back from the executions. */
export function store(world: World, { change }: Verdict, now: number): World {
  if (change === null) return world;
  const claimed = change.state.execution ?? null;
  const settled = new Set(change.settled);
  const executions = [...world.executions, ...(claimed === null ? [] : [claimed])]
    .map((execution) => ({ ...execution, ...[change.execution, change.proven].find((one) => one?.id === execution.id)?.set }))
    .map((execution) => (settled.has(execution.fence) ? { ...execution, unresolved: false } : execution));
  const moved = change.signal === null ? {} : { version: world.request.version + 1, updatedAt: now };
  const decisions = change.decision === null ? world.request.decisions : [...world.request.decisions, change.decision];
  const request = { ...world.request, ...change.state, ...moved, decisions };
  return { request: { ...request, ...totalsOf(executions) }, executions, events: [...world.events, ...change.events] };
}

/** What the stored executions say about a request. */
function totalsOf(
  executions: readonly Execution[],
): Pick<StoredRequest, 'attempts' | 'execution' | 'finishedExecutions' | 'unresolved'> {
  return {
    attempts: [...executions],
    execution: executions.at(-1) ?? null,
    finishedExecutions: executions.filter(({ status, lost }) => status !== 'running' && !lost).length,
    unresolved: executions
      .filter(({ unresolved }) => unresolved)
      .map(({ id, fence, agentId, marker, markerForm, claimedAt }) => {
        return { fence, executionId: id, agentId, provable: marker === 'required', markerForm, claimedAt };
      }),
  };
}

/** Judges a move and stores what came of it. */
export function make(world: World, move: Move, now: number): { world: World; verdict: Verdict } {
  const verdict = judge(world.request, move, now);
  return { world: store(world, verdict, now), verdict };
}

export const typesOf = (events: readonly AuditDraft[]) => events.map(({ type }) => type);

/** The events of a request since its creation, as far as the order of evidence is judged by them (AU-84). */
export const asSealed = (events: readonly AuditDraft[]): SealedEvent[] =>
  [{ type: 'request.created', metadata: {} }, ...events].map(
    ({ type, metadata }, seq) => ({ event_type: type, metadata_json: JSON.stringify(metadata), seq }) as unknown as SealedEvent,
  );

/** The tests' own reading of RQ-9 for users and groups, to hold against the rules'. */
export function matches(caller: Caller, selector: string): boolean {
  if (caller.kind === 'agent') return false;
  return selector.startsWith('user:')
    ? selector === `user:${caller.id}`
    : caller.groups.some((name) => selector === `group:${name}`);
}
