import { type FoundExecution, findExecution } from '../../db/executions.js';
import { type Moved, move } from '../../db/move.js';
import { moveAtOnce } from '../../db/move-at-once.js';
import type { MoveStatement } from '../../db/move-statement.js';
import { mayReport } from '../../domain/agent-scopes.js';
import { forbidden, notFound, othersRun, refusal } from '../../domain/errors.js';
import { judge } from '../../domain/request/judge.js';
import type { Move, Submission } from '../../domain/request/moves.js';
import type { StoredRequest } from '../../domain/request/types.js';
import { isUuid } from '../../lib/uuid.js';
import type { Services } from '../context.js';
import { readAhead } from '../http/ahead.js';
import { commitMove } from '../requests/decide.js';
import { agentOf } from './caller.js';
import { keepData, type Placed, placeOf, requireObject, resultParts } from './result-place.js';
import { type ResultBody, type ResultCall, readSubmission, replaceTooLarge, type Submitted } from './submission.js';

/** `POST /api/agent/jobs/{execution id}/result` in the order of AG-42; the data is durable before the request is finished (RS-48). */
export async function submitResult(call: ResultCall, services: Services) {
  const own = await ownExecution(call, services);
  const submitted = readSubmission(call, own.execution, services, own.found.request.attempts);
  const moved = await keepAndMove(call, services, own, submitted);
  if (submitted.tooLarge && moved.changed)
    throw refusal('payload.too_large', `the limit is ${services.config().resultStorage.maxPersistBytes} bytes`);
  return { request_id: own.execution.requestId, status: recordedStatus(own.execution, moved) };
}

/** AG-43, AG-49: what this result led to. A request that was dispatched again has moved on, so its older execution tells. */
function recordedStatus({ id, fence }: FoundExecution, { after }: Moved): string {
  if (fence === after.fence) return after.status;
  const attempt = after.attempts.find((one) => one.id === id);
  if (attempt?.status === 'completed') return 'executed';
  return attempt?.lost ? 'execution_lost' : 'failed';
}

/** A body above the route's limit was not read, so its content is unknown (AG-47). */
export async function submitUnread(call: Omit<ResultCall, 'body'>, services: Services, bytes: number): Promise<void> {
  const own = await ownExecution(call, services);
  const { execution } = own;
  const body: ResultBody = execution.mutating ? { success: false, outcome: 'unknown' } : { success: true };
  const { submission } = readSubmission({ ...call, body }, execution, services);
  await keepAndMove(call, services, own, replaceTooLarge(services, execution, submission, bytes));
}

type Own = NonNullable<Awaited<ReturnType<typeof findExecution>>>;

export const executionAhead = readAhead(findExecution);

async function ownExecution(call: Pick<ResultCall, 'params' | 'caller' | 'ahead'>, services: Services): Promise<Own> {
  const { id } = call.params;
  const own = isUuid(id) ? await executionAhead.take(call, services.database, id) : undefined;
  if (own === undefined) throw notFound('execution');
  const agent = agentOf(call.caller);
  if (own.execution.agentId !== agent.id || !mayReport(agent, own.execution)) throw forbidden(othersRun);
  return own;
}

/** An object in the store is durable before the move; small data, the record of an object, or the relay is part of it. */
async function keepAndMove(
  call: Omit<ResultCall, 'body'>,
  services: Services,
  { execution, found }: Own,
  submitted: Submitted,
): Promise<Moved> {
  const { database } = services;
  const placed = placeOf(services, call.generation, execution, submitted);
  const data = await keepData(services, placed);
  const existed = data?.existed === true;
  // Storing an object takes time, so what was found before may be outdated.
  const fresh = data === null || 'data' in data.place ? found : undefined;
  const decide = async (request: StoredRequest, now: number) => {
    if (existed) await requireObject(services, placed.key);
    return judge(request, reportOf(call, execution, { ...submitted.submission, kept: placed.kept }, request), now);
  };
  const how = {
    actor: call.actor,
    pair: execution.operation.startsWith('migrate_'),
    more: (statement: MoveStatement) => resultParts(services, placed, data, statement),
  };
  const { requestId } = execution;
  const moved = await commitMove(services, () =>
    existed
      ? database.transaction((tx) => move<unknown>(tx, requestId, decide, how))
      : moveAtOnce<unknown>(database, requestId, decide, { ...how, found: fresh }),
  );
  if (moved.changed) count(services, placed, moved.after);
  return moved;
}

/** Names the execution as it is when the move is written, or two late results could both be noted (AG-44). */
function reportOf(
  { actor, caller }: Omit<ResultCall, 'body'>,
  { id }: FoundExecution,
  submission: Submission,
  request: StoredRequest,
): Move {
  const reported = request.attempts.find((attempt) => attempt.id === id);
  if (reported === undefined) throw notFound('execution');
  return { kind: 'result', actor, agentId: caller.id, reported, submission };
}

function count({ metrics }: Services, { execution, submitted, kept }: Placed, { status: ended }: StoredRequest): void {
  const { submission, tooLarge } = submitted;
  const status = { executed: 'completed', cancelled: 'cancelled', execution_lost: 'lost' }[ended as string] ?? 'failed';
  metrics.executions.inc({ status });
  metrics.resultStorage.inc({ status: tooLarge ? 'too_large' : kept === 'object' ? 'stored' : 'skipped' });
  if (submission.durationMs === null) return;
  const { database, environment } = execution;
  metrics.executionDuration.observe({ database, environment }, submission.durationMs / 1000);
}
