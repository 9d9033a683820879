import { randomUUID } from 'node:crypto';
import type { AgentConfig } from './config-values.js';
import type { Databases } from './databases.js';
import type { ExplainJobs } from './explain-jobs.js';
import { type GatewayClient, isRefusal, refusalText } from './gateway-client.js';
import type { Jobs } from './jobs.js';
import type { Log } from './log.js';
import { type PollAnswer, pollAnswer } from './protocol.js';
import type { Timings } from './timings.js';

export interface PollerDependencies {
  config: AgentConfig;
  version: string;
  client: GatewayClient;
  databases: Databases;
  jobs: Jobs;
  explains: ExplainJobs;
  timings: Timings;
  log: Log;
}

export interface PollRequest {
  limit: number;
  explainLimit: number;
  waitMs: number;
  /** Whether the gateway may claim what it finds (AG-80). Without it, it does not answer lost claims again either. */
  claim: boolean;
  draining: boolean;
  signal: AbortSignal;
}

export type PollResult =
  | { ok: true; answer: PollAnswer }
  /** `status` is null without an answer; `refused`: the gateway itself has refused it for good. */
  | { ok: false; status: number | null; refused: boolean; why: string; retryAfterMs: number | null };

/** Sends one poll. Never throws; an aborted poll counts as failed. */
export type Poll = (request: PollRequest) => Promise<PollResult>;

/** Polls that describe this process (agent.md section 3). */
export function createPoller(dependencies: PollerDependencies): Poll {
  const { client, timings, log } = dependencies;
  const self = { instanceId: randomUUID(), begunAt: performance.now() };
  const tellRefused = createRefusalLog(log);
  return async (request) => {
    try {
      const timeoutMs = request.waitMs + timings.pollGraceMs;
      const body = bodyOf(request, self, dependencies);
      const answer = await client.post('/api/agent/poll', body, { timeoutMs, signal: request.signal });
      if (answer.status !== 200) {
        const { status, retryAfterMs } = answer;
        return { ok: false, status, refused: isRefusal(answer), why: refusalText(answer), retryAfterMs };
      }
      const parsed = pollAnswer.safeParse(answer.body);
      if (!parsed.success) return unanswered('unreadable answer');
      tellRefused(parsed.data.refused_scopes);
      return { ok: true, answer: parsed.data };
    } catch (error) {
      return unanswered((error as Error).message);
    }
  };
}

const unanswered = (why: string): PollResult => ({ ok: false, status: null, refused: false, why, retryAfterMs: null });

function bodyOf(
  request: PollRequest,
  self: { instanceId: string; begunAt: number },
  { config, version, databases, jobs, explains }: PollerDependencies,
): object {
  const served = [...databases.all, ...databases.leaving].filter((one) => !one.degraded);
  return {
    agent_id: null,
    instance_id: self.instanceId,
    agent_version: version,
    capabilities: {
      scopes: served.map(({ database, environment, markerReady }) => ({ database, environment, marker: markerReady })),
      operations: config.operations,
      features: [
        'fence',
        'marker_executions',
        'max_affected_rows',
        'cancel_in_poll',
        'claim_in_poll',
        ...(config.snapshotSync.enabled ? ['schema_sync'] : []),
      ],
    },
    status: {
      in_flight: config.maxConcurrentTasks - jobs.free,
      in_flight_preflight: explains.preflights,
      max_concurrent: config.maxConcurrentTasks,
      draining: request.draining,
      uptime_secs: Math.floor((performance.now() - self.begunAt) / 1000),
      active_jobs: jobs.active(),
    },
    limit: Math.min(request.limit, 20),
    explain_limit: Math.min(request.explainLimit, 10),
    wait_ms: request.waitMs,
    claim: request.claim,
    holding: jobs.held(),
  };
}

/**
 * Logs the databases that the gateway does not let this token serve, once for each set, and when all are served again (HD-11).
 */
function createRefusalLog(log: Log): (refused: PollAnswer['refused_scopes']) => void {
  let told = '';
  return (refused) => {
    const databases = refused
      .map(({ database, environment }) => `${database}/${environment}`)
      .sort()
      .join(', ');
    if (databases === told) return;
    told = databases;
    if (databases === '') log.info('the agent token may serve all databases again');
    else log.error('the agent token may not serve these databases', { databases, hint: 'make a token with --scope for them' });
  };
}
