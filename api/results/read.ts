import { topic } from '../../db/notifications.js';
import { findState } from '../../db/request-state.js';
import { type ExecutionResult, findExecutionResult } from '../../db/results.js';
import type { Caller } from '../../domain/caller.js';
import { notFound, refusal } from '../../domain/errors.js';
import { answeringExecution } from '../../domain/request/answering.js';
import { unreadable } from '../../domain/request/refused.js';
import { mayReadResult } from '../../domain/request/relation.js';
import type { Status, StoredRequest } from '../../domain/request/types.js';
import { isUuid } from '../../lib/uuid.js';
import type { Services } from '../context.js';
import { readAhead } from '../http/ahead.js';
import { longPoll } from '../http/long-poll.js';
import { noContent, type Reply, rawJson } from '../http/reply.js';
import type { Call } from '../http/route.js';
import { requestId } from '../requests/request-id.js';
import { type EnvelopeHead, envelope } from './envelope.js';
import { isDataOpen, readable, resultPolicy } from './policy.js';
import { relayed } from './relayed.js';
import { storedText } from './stored-text.js';

type ReadCall<Q> = Call<{ id: string }, Q, undefined>;

export const requestAhead = readAhead((db, id) => findState(db, id), topic.outcome);

/** RS-3: 404 if unknown, 403 without access, both before anything that depends on the request's state. */
function readableOf(
  call: Pick<ReadCall<unknown>, 'generation'>,
  caller: Caller,
  services: Services,
  found: Awaited<ReturnType<typeof findState>>,
): StoredRequest {
  if (found === undefined) throw notFound('request');
  const { request } = found;
  const { access } = resultPolicy(services, call.generation, request);
  if (!mayReadResult(caller, request, access)) throw unreadable(caller, request);
  return request;
}

type ContentCall = Pick<ReadCall<{ execution_id?: string | undefined }>, 'caller' | 'generation' | 'params' | 'query'>;

/** `GET …/result/content` (RS-31 to RS-40). */
export async function readContent(call: ContentCall, services: Services): Promise<Reply> {
  const { head, data } = await findContent(call, services);
  return replyOf(services, head, data);
}

const replyOf = async (services: Services, head: EnvelopeHead, data: ExecutionResult | null): Promise<Reply> =>
  rawJson(envelope(head, data === null ? null : await storedText(services, data)));

/** What the caller may read of an execution: its head, and where its data is unless there is none to be read. */
export async function findContent(call: ContentCall, services: Services): Promise<Content> {
  const found = await findState(services.database, requestId(call.params.id));
  const request = readableOf(call, call.caller, services, found);
  const wanted = call.query.execution_id;
  if (wanted !== undefined && !isUuid(wanted)) throw notFound('execution');
  const execution = await findExecutionResult(services.database, request.id, wanted ?? answeringExecution(request)?.id ?? null);
  if (execution === undefined) throw wanted === undefined ? noResultYet() : notFound('execution');
  if (execution.finished_at === null)
    throw wanted === undefined ? noResultYet() : refusal('result.conflict', 'execution is still running');
  return contentOf(call, services, request, execution);
}

const noResultYet = () => refusal('result.not_found', 'no result yet');

interface Content {
  head: EnvelopeHead;
  data: ExecutionResult | null;
}

function contentOf(
  call: Pick<ReadCall<unknown>, 'generation'>,
  services: Services,
  request: StoredRequest,
  execution: ExecutionResult,
): Content {
  if (!readable(services, call.generation, request, execution)) {
    throw refusal('result.gone', 'result not stored for this request', 'it was not to be stored, or its time is over');
  }
  const head = {
    executionId: execution.id,
    success: execution.success ?? false,
    rowsAffected: execution.rows_affected,
    truncated: execution.truncated ?? false,
    errorMessage: execution.error_message,
  };
  return { head, data: isDataOpen(services, call.generation, request, execution) ? execution : null };
}

const ended = {
  rejected: 'request rejected',
  cancelled: 'request cancelled',
  expired: 'request expired',
} as const satisfies Partial<Record<Status, string>>;

const settledStatuses: ReadonlySet<Status> = new Set(['executed', 'failed', ...Object.keys(ended)] as Status[]);

/** `GET …/result/stream` (RS-20 to RS-30): the answer of the current run, or 204. */
export async function awaitResult(call: ReadCall<undefined>, services: Services, waitMs: number): Promise<Reply> {
  const id = requestId(call.params.id);
  let seen: StoredRequest | null = null;
  const answer = await longPoll(call, services, { topics: [topic.outcome(id)], ms: waitMs }, async (woken) => {
    // After a wait by the policies of now, as the caller is (RS-59).
    const by = woken ? { generation: services.generation() } : call;
    const [rechecked, [found, newest]] = woken
      ? await call.recheckBeside((db) => Promise.all([findState(db, id), findExecutionResult(db, id, null)]))
      : [null, [await requestAhead.take(call, services.database, id), undefined] as const];
    const request = readableOf(by, rechecked ?? call.caller, services, found);
    const before = seen;
    seen = request;
    if (!settledStatuses.has(request.status) && !wentBack(before, request)) return null;
    return { settled: (await settledAnswer(by, services, request, newest)) ?? noContent() };
  });
  return answer === null ? noContent() : answer.settled;
}

/** RS-25: the client must look at the request itself. A call that began while the execution was lost keeps waiting (RS-27). */
function wentBack(before: StoredRequest | null, now: StoredRequest): boolean {
  if (before === null) return false;
  // A whole dispatch may have passed between two looks.
  const ranSince = now.fence > before.fence;
  if (now.status === 'execution_lost') return ranSince || before.status !== 'execution_lost';
  return now.status === 'approved' && (ranSince || before.status === 'dispatched' || before.status === 'running');
}

/** RS-20, RS-21; null while the outcome is open (RS-22). `newest` was read in parallel with the request, so its execution may not have ended yet. */
async function settledAnswer(
  call: Pick<ReadCall<unknown>, 'generation'>,
  services: Services,
  request: StoredRequest,
  newest: ExecutionResult | undefined,
): Promise<Reply | null> {
  const { status } = request;
  const text =
    status === 'failed' && request.failureReason !== null
      ? request.failureReason
      : status in ended
        ? ended[status as keyof typeof ended]
        : null;
  if (text !== null) {
    const head = {
      executionId: request.execution?.id ?? '',
      success: false,
      rowsAffected: null,
      truncated: false,
      errorMessage: text,
    };
    return rawJson(envelope(head, null));
  }
  if (status !== 'executed' && status !== 'failed') return null;
  const answering = answeringExecution(request)?.id ?? null;
  // By its id: another run may have begun since.
  const isRead = newest?.id === answering && newest?.finished_at != null;
  const execution = isRead ? newest : await findExecutionResult(services.database, request.id, answering);
  if (execution === undefined) throw noResultYet();
  const held = execution.result_kept === 'relay' ? await relayed(services.database, execution.id) : null;
  if (held !== null) return rawJson([held]);
  const { head, data } = contentOf(call, services, request, execution);
  return replyOf(services, head, data);
}
