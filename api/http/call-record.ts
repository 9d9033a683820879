import type Koa from 'koa';
import type { Services } from '../context.js';
import type { Trace } from './send.js';

const quietPaths = new Set(['/health', '/ready', '/metrics']);
const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Counts and logs an answered call (OP-93): the time that it waited is not part of its duration in the metrics. */
export function recordCall(services: Services, trace: Trace, ctx: Koa.Context, durationMs: number): void {
  const method = knownMethods.has(ctx.method) ? ctx.method : 'OTHER';
  const labels = { method, path: trace.template };
  services.metrics.httpRequests.inc({ ...labels, status: String(ctx.status) });
  services.metrics.httpDuration.observe(labels, Math.max(0, durationMs - trace.waitedMs) / 1000);
  const quiet = quietPaths.has(trace.template) || (trace.longPoll === 'agent' && ctx.status === 200);
  services.log[quiet ? 'debug' : 'info'](
    {
      call_id: trace.callId,
      trace_id: trace.traceId ?? undefined,
      subject_id: trace.subjectId ?? undefined,
      client_ip: trace.clientIp ?? undefined,
      ...labels,
      status: ctx.status,
      duration_ms: Math.round(durationMs * 10) / 10,
      outage: trace.outage ?? undefined,
    },
    'call',
  );
}
