import type { Transaction } from '../../db/client.js';
import { type FoundExecution, findExecution, listAttempts } from '../../db/executions.js';
import { type Moved, move } from '../../db/move.js';
import { insertRelay, insertResult } from '../../db/results.js';
import { mayReport } from '../../domain/agent-scopes.js';
import { forbidden, notFound, refusal } from '../../domain/errors.js';
import { judge } from '../../domain/request/judge.js';
import type { Submission } from '../../domain/request/moves.js';
import type { StoredRequest } from '../../domain/request/types.js';
import { isJsonText } from '../../lib/json/scan.js';
import { isUuid } from '../../lib/uuid.js';
import { type PutObject, reachResults } from '../../runtime/result-store.js';
import type { Services } from '../context.js';
import { commitMove } from '../requests/decide.js';
import { envelope } from '../results/envelope.js';
import { resultPolicy } from '../results/policy.js';
import { agentOf } from './caller.js';
import { type ResultBody, type ResultCall, readSubmission, replaceTooLarge, type Submitted } from './submission.js';

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** `POST /api/agent/jobs/{execution id}/result` in the order of AG-42; the data is durable before the request is finished (RS-48). */
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
function recordedStatus(execution: FoundExecution, { after }: Moved): string {
  if (execution.fence === after.fence) return after.status;
  if (execution.status === 'completed') return 'executed';
  return execution.lost ? 'execution_lost' : 'failed';
}

/** A body above the route's limit, which was not read: nobody knows what is in it (AG-47). */
export async function submitUnread(call: Omit<ResultCall, 'body'>, services: Services, bytes: number): Promise<void> {
  const execution = await ownExecution(call, services);
  const body: ResultBody = execution.mutating ? { success: false, outcome: 'unknown' } : { success: true };
  const { submission } = readSubmission({ ...call, body }, execution, services);
  const submitted = replaceTooLarge(
    submission,
    execution.mutating,
    bytes,
    services.config().resultStorage.maxPersistBytes,
    services,
  );
  await keepAndMove(call, services, execution, submitted);
}

async function ownExecution(call: Pick<ResultCall, 'params' | 'caller'>, services: Services): Promise<FoundExecution> {
  const execution = isUuid(call.params.id) ? await findExecution(services.database, call.params.id) : undefined;
  if (execution === undefined) throw notFound('execution');
  const agent = agentOf(call.caller);
  if (execution.agentId !== agent.id || !mayReport(agent, execution)) throw forbidden();
  return execution;
}

async function keepAndMove(
  call: Omit<ResultCall, 'body'>,
  services: Services,
  execution: FoundExecution,
  submitted: Submitted,
): Promise<Moved> {
  const policy = resultPolicy(services, call.generation, execution);
  const kept = placeOf(execution, submitted, policy.deliveryMode);
  const submission = { ...submitted.submission, kept };
  const key = `${execution.requestId}/${execution.id}`;
  const newest = execution.fence === execution.newestFence;
  const wanted = kept === 'object' && submitted.data !== null && execution.submission === null && newest;
  const object = wanted ? await keepObject(services, key, submitted.data!) : null;
  const validJson = submitted.data !== null && isJsonText(submitted.data);
  const moved = await commitMove(services, async (tx) => {
    const done = await moveByResult(tx, call, execution, submission);
    if (done.refusal !== null || !done.changed) return done;
    // What the agent says it found applied was not believed (HD-41): the data is of no attempt.
    if (done.after.execution?.outcome !== submission.outcome) return done;
    // The cleaner removes orphans under the lock that is held here (RS-49), so an object found now stays.
    if (object?.existed && !(await reachResults(services, () => services.results.has(key)))) throw lostMeanwhile();
    if (object !== null) {
      const stored = {
        executionId: execution.id,
        requestId: execution.requestId,
        backend: services.results.backend,
        key,
        ...object,
        validJson,
        retentionDays: policy.retentionDays,
      };
      insertResult(tx, stored, done.now);
    }
    if (kept === 'relay') relay(tx, services, execution, submitted, validJson, done.now);
    return done;
  });
  count(services, execution, submitted, kept, moved);
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

/** The agent repeats its submission, and the object is written anew. */
const lostMeanwhile = () => refusal('service.unavailable', 'the result has to be sent again');

async function keepObject(services: Services, key: string, text: Uint8Array): Promise<PutObject> {
  try {
    return await reachResults(services, () => services.results.put(key, text));
  } catch (error) {
    services.metrics.resultStorage.inc({ status: 'failed' });
    throw error;
  }
}

/** RS-43: where the data of this outcome goes. */
function placeOf(
  execution: FoundExecution,
  { submission, data }: Submitted,
  delivery: 'both' | 'stream',
): 'object' | 'empty' | 'relay' {
  if (!submission.success) return data === null ? 'empty' : 'object';
  if (execution.noResultStore || delivery === 'stream') return 'relay';
  return data === null ? 'empty' : 'object';
}

function relay(
  tx: Transaction,
  services: Services,
  execution: FoundExecution,
  submitted: Submitted,
  validJson: boolean,
  now: number,
): void {
  const { maxSlots, slotTtlSecs } = services.config().resultChannel;
  const { submission, data } = submitted;
  const head = {
    executionId: execution.id,
    success: true,
    rowsAffected: submission.rowsAffected,
    truncated: submission.truncated ?? false,
    errorMessage: submission.errorMessage,
  };
  const json = data === null || validJson ? data : Buffer.from(JSON.stringify(utf8.decode(data)));
  const pieces = envelope(head, json).map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece));
  const stored = {
    executionId: execution.id,
    requestId: execution.requestId,
    envelope: Buffer.concat(pieces),
    expiresAt: now + slotTtlSecs * 1000,
  };
  insertRelay(tx, stored, maxSlots);
}

function count(
  services: Services,
  execution: FoundExecution,
  { submission, tooLarge }: Submitted,
  kept: string,
  moved: Moved,
): void {
  if (!moved.changed) return;
  const { metrics } = services;
  const status =
    { executed: 'completed', cancelled: 'cancelled', execution_lost: 'lost' }[moved.after.status as string] ?? 'failed';
  metrics.executions.inc({ status });
  metrics.resultStorage.inc({ status: tooLarge ? 'too_large' : kept === 'object' ? 'stored' : 'skipped' });
  if (submission.durationMs === null) return;
  metrics.executionDuration.observe(
    { database: execution.database, environment: execution.environment },
    submission.durationMs / 1000,
  );
}
