import type { z } from 'zod';
import { explainTokenProblem } from '../crypto/explain-token.js';
import { readInstant } from '../domain/execution-token.js';
import { sleep } from '../lib/sleep.js';
import type { AgentConfig } from './config-values.js';
import type { Databases } from './databases.js';
import type { ExecuteDependencies } from './execute.js';
import { type Explained, type ExplainTask, explainStatement } from './explain.js';
import { type GatewayClient, isRefusal } from './gateway-client.js';
import type { StreamedBody } from './http-exchange.js';
import type { Log } from './log.js';
import { cutErrorText } from './outcome.js';
import { type DryRunJob, dryRunClaimAnswer, type PollAnswer, type PreflightJob } from './protocol.js';
import type { Timings } from './timings.js';

export interface ExplainJobsDependencies extends Pick<ExecuteDependencies, 'classifier' | 'keys'> {
  databases: Databases;
  config: Pick<AgentConfig, 'maxConcurrentExplains'>;
  client: GatewayClient;
  timings: Timings;
  log: Log;
  /** Aborts when nothing more may be sent. */
  abandoned: AbortSignal;
  onFreedSlot: () => void;
}

/** The EXPLAIN jobs of this process, which have their own slots (AP-80). */
export interface ExplainJobs {
  readonly free: number;
  /** The number of running preflight jobs. */
  readonly preflights: number;
  /**
   * Claims an offered dry-run job and runs it if claimed; resolves with the claim's answer. A job that another agent took counts
   * as claimed.
   */
  startDryRun(job: DryRunJob, agentId: string): Promise<'claimed' | 'refused'>;
  /** Runs a job that this poll answer has claimed. */
  startPreflight(job: PreflightJob, answer: Pick<PollAnswer, 'agent_id' | 'server_time'>): void;
  /** Resolves when no job is left. */
  idle(): Promise<void>;
}

const dryRunMs = 5000;
/** A claim unanswered for this long goes to another agent (AG-68). */
const dryRunClaimMs = 60_000;
/** AG-67 and AG-70; the rest of a body is far below 1 KiB. */
const maxBytes = { dryRun: 2 * 1024 * 1024 - 1024, preflight: 262_144 };
const maxAttempts = 5;

export function createExplainJobs(dependencies: ExplainJobsDependencies): ExplainJobs {
  const { config, log } = dependencies;
  const running = new Set<Promise<void>>();
  let preflights = 0;
  /** Takes a slot until `work` ends; only logs its failures. */
  const occupy = (work: Promise<void>) => {
    const done = work
      .catch((error: Error) => log.error('explain job failed in the agent', { why: error.name }))
      .finally(() => {
        running.delete(done);
        dependencies.onFreedSlot();
      });
    running.add(done);
  };
  return {
    get free() {
      return config.maxConcurrentExplains - running.size;
    },
    get preflights() {
      return preflights;
    },
    async startDryRun(job, agentId) {
      const claiming = claimDryRun(job.id, dependencies);
      const work = async () => {
        const claimed = await claiming;
        if (typeof claimed !== 'string') await runDryRun({ ...job, agentId }, claimed, dependencies);
      };
      occupy(work());
      return (await claiming) === 'refused' ? 'refused' : 'claimed';
    },
    startPreflight(job, answer) {
      preflights++;
      occupy(runPreflight(job, answer, dependencies).finally(() => preflights--));
    },
    async idle() {
      while (running.size > 0) await Promise.all(running);
    },
  };
}

type DryRunClaim = z.output<typeof dryRunClaimAnswer>;

/** `taken`: the job is another agent's, or gone. Never throws. */
async function claimDryRun(
  id: string,
  { client, timings, abandoned }: ExplainJobsDependencies,
): Promise<DryRunClaim | 'taken' | 'refused'> {
  try {
    const answer = await client.post(`/api/agent/dry-run/${id}/claim`, null, { timeoutMs: timings.httpMs, signal: abandoned });
    if (answer.status === 200) return dryRunClaimAnswer.parse(answer.body);
    return isRefusal(answer) && (answer.status === 409 || answer.status === 404) ? 'taken' : 'refused';
  } catch {
    return 'refused';
  }
}

async function runDryRun(
  job: DryRunJob & { agentId: string },
  claimed: DryRunClaim,
  dependencies: ExplainJobsDependencies,
): Promise<void> {
  const until = performance.now() + dryRunClaimMs;
  const task = { ...job, kind: 'dry_run', token: claimed.explain_token, timeoutMs: dryRunMs } as const;
  const explained = await explainSigned(task, dependencies);
  const send = { path: `/api/agent/dry-run/${job.id}/result`, head: { claim_token: claimed.claim_token }, until };
  await submit(send, limited(explained, maxBytes.dryRun), dependencies);
}

async function runPreflight(
  job: PreflightJob,
  { agent_id: agentId, server_time: serverTime }: Pick<PollAnswer, 'agent_id' | 'server_time'>,
  dependencies: ExplainJobsDependencies,
): Promise<void> {
  const until = performance.now() + remainingMs(job, serverTime);
  if (performance.now() >= until) return;
  const task = { ...job, kind: 'preflight', token: job.explain_token, agentId, timeoutMs: job.timeout_ms } as const;
  const explained = await explainSigned(task, dependencies);
  const send = { path: '/api/agent/preflight-result', head: { job_id: job.id, claim_token: job.claim_token }, until };
  await submit(send, limited(explained, maxBytes.preflight), dependencies);
}

interface SignedTask extends Omit<ExplainTask, 'signal'> {
  id: string;
  kind: 'dry_run' | 'preflight';
  /** Absent when the gateway sent none. */
  token: string | undefined;
  /** `agent_id` of the poll answers. */
  agentId: string;
}

/** Plans a statement only with a token that gives this job to this agent (HD-81). */
async function explainSigned(task: SignedTask, dependencies: ExplainJobsDependencies): Promise<Explained> {
  const { id: jobId, kind, token, agentId, database, environment, sql } = task;
  if (token === undefined) return { error: 'not planned: the gateway signs no EXPLAIN jobs, it is older than this agent' };
  const { keys, log, abandoned } = dependencies;
  const terms = { jobId, kind, database, environment, sql, agentId };
  await keys.refreshFor(token);
  const problem = explainTokenProblem(token, terms, { keys: keys.keys, now: new Date() });
  if (problem === null)
    return explainStatement({ database, environment, sql, timeoutMs: task.timeoutMs, signal: abandoned }, dependencies);
  log.warn('EXPLAIN job refused', { job: jobId, why: problem });
  return { error: `not planned: explain token verification failed: ${problem}` };
}

/** How long the requester still waits; both times are from the server's clock. */
function remainingMs(job: PreflightJob, serverTime: string): number {
  const [expires, now] = [readInstant(job.expires_at), readInstant(serverTime)];
  return expires === null || now === null ? 0 : expires - now;
}

const limited = (explained: Explained, bytes: number): Explained =>
  'plan' in explained && Buffer.byteLength(explained.plan) > bytes ? tooLarge : explained;

const tooLarge = { error: 'plan too large' };

/** Retries until it is answered or `until` is reached; replaces a plan that the server refuses by an error, once. */
async function submit(
  send: { path: string; head: object; until: number },
  explained: Explained,
  { client, timings, log, abandoned }: ExplainJobsDependencies,
): Promise<void> {
  let body = explained;
  for (let attempt = 0; attempt < maxAttempts && performance.now() < send.until && !abandoned.aborted; attempt++) {
    const answer = await client
      .post(send.path, bodyOf(send.head, body), { timeoutMs: timings.httpMs, signal: abandoned })
      .catch(() => null);
    const status = answer?.status ?? 0;
    if (status >= 200 && status < 300) return;
    const refused = answer !== null && isRefusal(answer);
    // A proxy takes no larger body in a moment either.
    if ('plan' in body && (status === 413 || (refused && status === 400))) body = tooLarge;
    else if (refused) return log.debug('explain result refused', { status });
    else await sleep(timings.resultBackoffMs[0] ?? 1000, abandoned);
  }
}

/** Passes the plan on unchanged (AP-60). */
function bodyOf(head: object, explained: Explained): object | StreamedBody {
  if ('error' in explained) return { ...head, error: cutErrorText(explained.error) };
  return [`${JSON.stringify(head).slice(0, -1)},"result":`, explained.plan, '}'];
}
