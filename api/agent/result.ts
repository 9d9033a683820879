import type { Transaction } from '../../db/client.js';
import { type FoundExecution, findExecution, listAttempts } from '../../db/executions.js';
import { type Moved, move } from '../../db/move.js';
import { mayReport } from '../../domain/agent-scopes.js';
import { forbidden, notFound, refusal } from '../../domain/errors.js';
import { judge } from '../../domain/request/judge.js';
import type { Submission } from '../../domain/request/moves.js';
import type { StoredRequest } from '../../domain/request/types.js';
import { isUuid } from '../../lib/uuid.js';
import type { Services } from '../context.js';
import { commitMove } from '../requests/decide.js';
import { agentOf } from './caller.js';
import { keepData, type Placed, placeOf, recordResult, relay } from './result-place.js';
import { type ResultBody, type ResultCall, readSubmission, replaceTooLarge, type Submitted } from './submission.js';

/** `POST /api/agent/jobs/{execution id}/result` in the order of AG-42; the data is durable when the request is finished (RS-48). */
export async function submitResult(call: ResultCall, services: Services) {
  const execution = await ownExecution(call, services);
  const told = call.body.marker_mismatches?.length ?? 0;
  const attempts = told === 0 ? [] : await listAttempts(services.database, execution.requestId);
  const submitted = readSubmission(call, execution, services, attempts);
  const moved = await keepAndMove(call, services, execution, submitted);
  if (submitted.tooLarge && moved.changed)
    throw refusal('payload.too_large', `the limit is ${services.config().resultStorage.maxPersistBytes} bytes`);
  return { request_id: execution.requestId, status: recordedStatus(execution, moved) };
}

/** AG-43, AG-49: what this result led to. A request that was dispatched again has moved on, so its older execution tells. */
function recordedStatus({ id, fence }: FoundExecution, { after }: Moved): string {
  if (fence === after.fence) return after.status;
  const attempt = after.attempts.find((one) => one.id === id);
  if (attempt?.status === 'completed') return 'executed';
  return attempt?.lost ? 'execution_lost' : 'failed';
}

/** A body above the route's limit, which was not read: nobody knows what is in it (AG-47). */
export async function submitUnread(call: Omit<ResultCall, 'body'>, services: Services, bytes: number): Promise<void> {
  const execution = await ownExecution(call, services);
  const body: ResultBody = execution.mutating ? { success: false, outcome: 'unknown' } : { success: true };
  const { submission } = readSubmission({ ...call, body }, execution, services);
  await keepAndMove(call, services, execution, replaceTooLarge(services, execution, submission, bytes));
}

async function ownExecution(call: Pick<ResultCall, 'params' | 'caller'>, services: Services): Promise<FoundExecution> {
  const execution = isUuid(call.params.id) ? await findExecution(services.database, call.params.id) : undefined;
  if (execution === undefined) throw notFound('execution');
  const agent = agentOf(call.caller);
  if (execution.agentId !== agent.id || !mayReport(agent, execution)) throw forbidden();
  return execution;
}

/** An object is durable before the transaction. Its record, or small data itself, or the relay, is part of the transaction. */
async function keepAndMove(
  call: Omit<ResultCall, 'body'>,
  services: Services,
  execution: FoundExecution,
  submitted: Submitted,
): Promise<Moved> {
  const placed = placeOf(services, call.generation, execution, submitted);
  const submission = { ...submitted.submission, kept: placed.kept };
  const data = await keepData(services, placed);
  const move = async (tx: Transaction) => {
    const done = await moveByResult(tx, call, execution, submission);
    if (done.refusal !== null || !done.changed) return done;
    // What the agent says it found applied was not believed (HD-41): the data is of no attempt.
    if (done.after.execution?.outcome !== submission.outcome) return done;
    if (data !== null) await recordResult(tx, services, { ...placed, data }, done.now);
    if (placed.kept === 'relay') relay(tx, services, placed, done.now);
    return done;
  };
  const moved = await commitMove(services, () => services.database.transaction(move));
  if (moved.changed) count(services, placed, moved.after);
  return moved;
}

/** The execution is judged as it is under the lock, or two late results could both be noted (AG-44). */
function moveByResult(
  tx: Transaction,
  { actor, caller }: Omit<ResultCall, 'body'>,
  execution: FoundExecution,
  submission: Submission,
): Promise<Moved> {
  const decide = (request: StoredRequest, now: number) => {
    const reported = request.attempts.find(({ id }) => id === execution.id);
    if (reported === undefined) throw notFound('execution');
    return judge(request, { kind: 'result', actor, agentId: caller.id, reported, submission }, now);
  };
  return move(tx, execution.requestId, decide, { pair: execution.operation.startsWith('migrate_') });
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
