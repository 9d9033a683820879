import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage } from 'node:http';
import type { StoredRequest } from '../../domain/request/types.js';
import { aboutRequest } from '../../tracing/attributes.js';
import { firstSpanId, linkOf, traceIdOf } from '../../tracing/ids.js';
import type { Tracing } from '../../tracing/tracing.js';
import type { Trace } from './send.js';

/** A request that a call has made or moved. */
interface Touched {
  request: StoredRequest;
  isNew: boolean;
}

interface OpenCall {
  http: IncomingMessage;
  trace: Trace;
  startedAt: number;
  /** By the id of the request; each has its own trace. */
  touched: Map<string, Touched>;
  /** Null until the answer is known. Slack and streams of MCP go on working after it. */
  status: number | null;
}

const calls = new AsyncLocalStorage<OpenCall>();

/**
 * Runs a call, and then records it in the trace of each request that it has made or moved; answers the id of the first. A refused call is in no trace
 * (OP-94).
 */
export async function recordedCall(
  tracing: Tracing,
  call: Pick<OpenCall, 'http' | 'trace' | 'startedAt'>,
  work: () => Promise<unknown>,
  statusOf: () => number,
): Promise<string | null> {
  const open: OpenCall = { ...call, touched: new Map(), status: null };
  await calls.run(open, work);
  open.status = statusOf();
  for (const touched of open.touched.values()) record(tracing, open, touched);
  const [first] = open.touched.keys();
  return first === undefined ? null : traceIdOf(first);
}

/** Call only after the commit. */
export function noteTouched(tracing: Tracing, request: StoredRequest, isNew: boolean): void {
  const call = calls.getStore();
  if (call === undefined) return;
  const touched = { request, isNew: isNew || call.touched.get(request.id)?.isNew === true };
  if (call.status === null) call.touched.set(request.id, touched);
  else record(tracing, call, { request, isNew });
}

function record(tracing: Tracing, { http, trace, startedAt, status }: OpenCall, { request, isNew }: Touched): void {
  const method = http.method ?? '';
  tracing.record({
    requestId: request.id,
    name: `${method} ${trace.template}`,
    kind: 'server',
    ...(isNew ? { id: firstSpanId(request.id), parent: 'none' } : {}),
    startedAt,
    endedAt: performance.now(),
    attributes: {
      'http.request.method': method,
      'http.route': trace.template,
      'http.response.status_code': status,
      ...aboutRequest(request),
    },
    link: linkOf([http.headers.traceparent].flat()[0]),
  });
}
