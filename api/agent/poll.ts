import type { z } from 'zod';
import { type AgentReport, insertAgent, type PollAnswers, touchAgent, updateAgent } from '../../db/agents.js';
import { insertAuditEvents } from '../../db/audit.js';
import type { Work } from '../../db/claimable-jobs.js';
import type { Vouched } from '../../db/client.js';
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
import { takePlace, type WaitingPolls } from './waiting-polls.js';

type PollCall = Call<undefined, undefined, z.output<typeof pollBody>>;

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

/** What the record of the poll brings. Its answer does not wait then. */
interface Told {
  /** Schemas that the agent must send. */
  schemas: ReturnType<typeof takeAsks>;
  /** Answers of claims that it did not get. */
  lost: string[];
}

async function answerPoll(call: PollCall, services: Services, memory: PollMemory, cancels: CancelWatch) {
  const { served, refused } = splitByScopes(agentOf(call.caller).agentScopes, call.body.capabilities.scopes);
  const report = agentReport(call, served);
  const { minVersion } = services.config().agents;
  const upgradeRequired = report.agentVersion !== null && isLowerVersion(report.agentVersion, minVersion);
  const none = upgradeRequired || services.lifecycle.draining || report.draining;
  const told: Told = { schemas: [], lost: [] };
  const begin = async (look?: (db: Vouched) => Promise<Work>) => {
    const [known, work] = await record(call, services, report, look);
    cancels.found(known.cancelled);
    if (!none) told.schemas = takeAsks(memory.asks, known.stale, performance.now());
    // A draining agent or server gets these too: nobody else can end them.
    if (!upgradeRequired) told.lost = lostClaims(known, report);
    return work;
  };
  const offered = await waitForOffer(call, services, { report, none, memory, cancels, told, begin });
  const { jobs, claims, dryRuns, preflights, cancelled, lost, schemas } = { ...offered, ...told };
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

/** The record of the poll and the first look for work share a round trip. */
async function record(
  call: PollCall,
  services: Services,
  report: AgentReport,
  look: (db: Vouched) => Promise<Work> = async () => nothingThere,
): Promise<[PollAnswers, Work]> {
  const questions = { wanted: wantedSchemas(call.generation, report), holding: call.body.holding, claims: call.body.claim };
  const both = (db: Vouched) => Promise.all([updateAgent(db, report, questions), look(db)]);
  const [known, work] = await services.database.together(both);
  if (known !== null) return [known, work];
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
  return [{ stale: [], cancelled: [], unheld: [] }, work];
}

const nothingThere: Work = { jobs: [], dryRuns: [], preflightWaits: false };

interface Waiting {
  report: AgentReport;
  /** The agent gets no work. */
  none: boolean;
  memory: PollMemory;
  cancels: CancelWatch;
  told: Told;
  /** Records the poll, with its first look. */
  begin(look?: (db: Vouched) => Promise<Work>): Promise<Work>;
}

async function waitForOffer(call: PollCall, services: Services, waiting: Waiting): Promise<Offer> {
  const { report, none, memory, cancels, told, begin } = waiting;
  const { limit, explain_limit: explains, claim, wait_ms: waitMs, holding } = call.body;
  const wanted = { jobs: Math.min(limit, maxJobs), explains: Math.min(explains, maxExplains), claim };
  if (none || wanted.jobs + wanted.explains + waitMs + holding.length === 0) {
    await begin();
    return nothingOffered;
  }
  const ended = new AbortController();
  let leave = () => {};
  let started = performance.now();
  try {
    const waiter = { ...call, signal: AbortSignal.any([call.signal, ended.signal]) };
    const topics = [
      ...report.scopes.map(({ database, environment }) => topic.jobs(database, environment)),
      topic.cancels(report.id),
    ];
    const offered = await longPoll(waiter, services, { topics, ms: Math.min(waitMs, maxWaitMs) }, async (woken) => {
      const look = (db: Vouched) => lookForWork(services, db, report, wanted);
      const [now, work] = woken ? await call.recheckBeside(look) : [call.caller, await begin(look)];
      if (!woken) started = performance.now();
      // If the token was narrowed during the wait, the agent must poll again.
      if (!sameScopes(now, call.caller)) return nothingOffered;
      // A claimed job is lost if the client is gone (HT-104).
      const mayClaim = () => !waiter.signal.aborted && !services.lifecycle.draining;
      const loaded = { ...report, inFlight: report.inFlight + told.lost.length };
      const [found, cancelled] = await Promise.all([offer(services, loaded, { wanted, work }, mayClaim), cancels.take()]);
      const claiming = { ...memory, report: loaded, jobs: found.jobs, limit: wanted.jobs };
      const isThere = performance.now() - started < memory.claimWithinMs;
      const claims = call.body.claim && isThere && found.jobs.length > 0 && mayClaim();
      const all = { ...found, ...(claims ? await claimOffered(call, services, claiming) : {}), cancelled };
      // An agent that must send a schema, or that lost a claim, gets its answer immediately.
      if (!isEmpty(all) || told.schemas.length + told.lost.length > 0) return all;
      if (!woken && waitMs > 0) leave = takePlace(memory.waiting, call.caller.id, () => ended.abort());
      return null;
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

/** The answer does not wait for this write: the agent's next poll repeats it within milliseconds. */
function touchLater(services: Services, agentId: string): void {
  touchAgent(services.database, agentId).catch((error: unknown) =>
    services.log.debug({ error: String(error) }, 'agent record not touched'),
  );
}
