import type { z } from 'zod';
import { type AgentReport, insertAgent, type PollAnswers, touchAgent, updateAgent } from '../../db/agents.js';
import { insertAuditEvents } from '../../db/audit.js';
import type { Queryable } from '../../db/client.js';
import { topic } from '../../db/notifications.js';
import { iso } from '../../db/row-types.js';
import { splitByScopes } from '../../domain/agent-scopes.js';
import type { Caller } from '../../domain/caller.js';
import { isLowerVersion } from '../../domain/semver.js';
import type { Services } from '../context.js';
import { longPoll } from '../http/long-poll.js';
import type { Call } from '../http/route.js';
import { agentOf } from './caller.js';
import { type CancelWatch, type ToldCancels, watchCancels } from './cancels.js';
import { isEmpty, lookForWork, nothingOffered, type Offer, offer } from './offer.js';
import { maxExplains, maxJobs, maxWaitMs, type pollBody } from './poll-body.js';
import { claimOffered, lostClaims } from './poll-claims.js';
import { type SchemaAsks, takeAsks, wantedSchemas } from './snapshot-asks.js';

type PollCall = Call<undefined, undefined, z.output<typeof pollBody>>;

/** Waiting polls of one token in this process, oldest first (AG-24). */
export type WaitingPolls = Map<string, (() => void)[]>;

/** What this process remembers of polls. */
export interface PollMemory {
  waiting: WaitingPolls;
  asks: SchemaAsks;
  told: ToldCancels;
  /** The shortest lease (AG-37). */
  leaseFloorMs: number;
  /**
   * An agent that froze or lost its network leaves a poll that waits on: a claim for it would be lost with its lease. So a poll that has waited
   * longer offers, and the agent claims (AG-80). Agents with work to do poll again at once.
   */
  claimWithinMs: number;
}

const maxWaitingPolls = 4;

/** `POST /api/agent/poll` (AG-12 to AG-26): records what the agent reports, then offers jobs, waiting for one if the agent asks for it. */
export async function pollJobs(call: PollCall, services: Services, memory: PollMemory) {
  const { holding, instance_id: instanceId = null } = call.body;
  const cancels = watchCancels(services, memory.told, { agentId: call.caller.id, instanceId, holding });
  try {
    return await answerPoll(call, services, memory, cancels);
  } finally {
    cancels.close();
  }
}

async function answerPoll(call: PollCall, services: Services, memory: PollMemory, cancels: CancelWatch) {
  const { served, refused } = splitByScopes(agentOf(call.caller).agentScopes, call.body.capabilities.scopes);
  const report = agentReport(call, served);
  const known = await record(call, services, report);
  cancels.found(known.cancelled);
  const { minVersion } = services.config().agents;
  const upgradeRequired = report.agentVersion !== null && isLowerVersion(report.agentVersion, minVersion);
  const none = upgradeRequired || services.lifecycle.draining || report.draining;
  const schemas = none ? [] : takeAsks(memory.asks, known.stale, performance.now());
  // A draining agent or server gets these too: nobody else can end them.
  const lost = upgradeRequired ? [] : lostClaims(known, report);
  // An agent that must send a schema, or that lost a claim, gets its answer immediately.
  const waitMs = schemas.length + lost.length > 0 ? 0 : Math.min(call.body.wait_ms, maxWaitMs);
  const loaded = { ...report, inFlight: report.inFlight + lost.length };
  const offered = none ? nothingOffered : await waitForOffer(call, services, loaded, { memory, waitMs, cancels });
  const { jobs, claims, dryRuns, preflights, cancelled } = offered;
  return {
    jobs,
    claims: [...lost, ...claims].map((answer) => JSON.parse(answer)),
    dry_run_jobs: dryRuns,
    preflight_jobs: preflights.map((job) => ({ ...job, expires_at: iso(job.expires_at) })),
    cancelled,
    schema_sync: schemas,
    refused_scopes: refused.map(({ database, environment }) => ({ database, environment })),
    server_version: services.version,
    min_agent_version: minVersion,
    upgrade_required: upgradeRequired,
    agent_id: call.caller.id,
    server_time: iso(Date.now()),
  };
}

function agentReport(call: PollCall, scopes: AgentReport['scopes']): AgentReport {
  const { capabilities, status, agent_version: agentVersion, instance_id: instanceId } = call.body;
  return {
    id: call.caller.id,
    ...capabilities,
    scopes,
    agentVersion: agentVersion ?? null,
    instanceId: instanceId ?? null,
    inFlight: status?.in_flight ?? 0,
    maxConcurrent: status?.max_concurrent ?? 4,
    inFlightPreflight: status?.in_flight_preflight ?? 0,
    draining: status?.draining ?? false,
    uptimeSecs: status?.uptime_secs ?? 0,
    activeJobs: status?.active_jobs ?? [],
  };
}

async function record(call: PollCall, services: Services, report: AgentReport): Promise<PollAnswers> {
  const questions = { wanted: wantedSchemas(call.generation, report), holding: call.body.holding, claims: call.body.claim };
  const known = await updateAgent(services.database, report, questions);
  if (known !== null) return known;
  const current = (await services.signingKeys.publicKeys()).find(({ status }) => status === 'current');
  await services.database.transaction(async (tx) => {
    if (!(await insertAgent(tx, report, current?.keyId ?? null))) return;
    await insertAuditEvents(tx, [
      {
        type: 'agent.registered',
        outcome: 'success',
        actor: call.actor,
        resourceType: 'agent',
        resourceId: report.id,
        reason: null,
        metadata: {},
      },
    ]);
  });
  return { stale: [], cancelled: [], unheld: [] };
}

async function waitForOffer(
  call: PollCall,
  services: Services,
  report: AgentReport,
  { memory, waitMs, cancels }: { memory: PollMemory; waitMs: number; cancels: CancelWatch },
): Promise<Offer> {
  const wanted = { jobs: Math.min(call.body.limit, maxJobs), explains: Math.min(call.body.explain_limit, maxExplains) };
  if (wanted.jobs + wanted.explains + waitMs + call.body.holding.length === 0) return nothingOffered;
  const ended = new AbortController();
  const leave = waitMs > 0 ? takePlace(memory.waiting, call.caller.id, () => ended.abort()) : () => {};
  const started = performance.now();
  try {
    const waiter = { ...call, signal: AbortSignal.any([call.signal, ended.signal]) };
    const topics = [
      ...report.scopes.map(({ database, environment }) => topic.jobs(database, environment)),
      topic.cancels(report.id),
    ];
    const offered = await longPoll(waiter, services, { topics, ms: waitMs }, async (woken) => {
      const look = (db: Queryable) => lookForWork(services, db, report, wanted);
      const [now, work] = woken ? await call.recheckBeside(look) : [call.caller, await look(services.database)];
      // If the token was narrowed during the wait, the agent must poll again.
      if (!sameScopes(now, call.caller)) return nothingOffered;
      // A claimed job is lost if the client is gone (HT-104).
      const mayClaim = () => !waiter.signal.aborted && !services.lifecycle.draining;
      const [found, cancelled] = await Promise.all([offer(services, report, { wanted, work }, mayClaim), cancels.take()]);
      const claiming = { ...memory, report, jobs: found.jobs, limit: wanted.jobs };
      const isThere = performance.now() - started < memory.claimWithinMs;
      const claims = call.body.claim && isThere && found.jobs.length > 0 && mayClaim();
      const all = { ...found, ...(claims ? await claimOffered(call, services, claiming) : {}), cancelled };
      return isEmpty(all) ? null : all;
    });
    if (offered === null && waitMs > 0) await call.recheck();
    return offered ?? nothingOffered;
  } finally {
    leave();
    if (performance.now() - started > 1000) touchLater(services, report.id);
  }
}

const sameScopes = (now: Caller, before: Caller) =>
  JSON.stringify(agentOf(now).agentScopes) === JSON.stringify(agentOf(before).agentScopes);

/** A token's fifth waiting poll ends its oldest, which answers with empty lists. */
function takePlace(waiting: WaitingPolls, agentId: string, end: () => void): () => void {
  const places = waiting.get(agentId) ?? [];
  waiting.set(agentId, places);
  places.push(end);
  if (places.length > maxWaitingPolls) places.shift()?.();
  return () => {
    const place = places.indexOf(end);
    if (place >= 0) places.splice(place, 1);
    if (places.length === 0 && waiting.get(agentId) === places) waiting.delete(agentId);
  };
}

/** The answer does not wait for this write: the agent's next poll repeats it within milliseconds. */
function touchLater(services: Services, agentId: string): void {
  touchAgent(services.database, agentId).catch((error: unknown) =>
    services.log.debug({ error: String(error) }, 'agent record not touched'),
  );
}
