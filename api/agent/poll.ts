import { type AgentReport, insertAgent, type PollAnswers, updateAgent } from '../../db/agents.js';
import { insertAuditEvents } from '../../db/audit.js';
import type { Work } from '../../db/claimable-jobs.js';
import type { Vouched } from '../../db/client.js';
import { iso } from '../../db/row-types.js';
import { splitByScopes } from '../../domain/agent-scopes.js';
import { isLowerVersion } from '../../domain/semver.js';
import type { Services } from '../context.js';
import { agentOf } from './caller.js';
import { type CancelWatch, watchCancels } from './cancels.js';
import { lostClaims } from './poll-claims.js';
import { type PollCall, type PollMemory, type Told, waitForOffer } from './poll-wait.js';
import { takeAsks, wantedSnapshots } from './snapshot-asks.js';

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
  const { minVersion } = services.config().agents;
  const upgradeRequired = report.agentVersion !== null && isLowerVersion(report.agentVersion, minVersion);
  const none = upgradeRequired || services.lifecycle.draining || report.draining;
  const told: Told = { snapshots: [], lost: [], signingKeyId: null };
  const begin = async (look?: (db: Vouched) => Promise<Work>) => {
    const [known, work] = await record(call, services, report, look);
    cancels.found(known.cancelled);
    told.signingKeyId = known.signingKeyId;
    if (!none) told.snapshots = takeAsks(memory.asks, known.stale, performance.now());
    // A draining agent or server gets these too: nobody else can end them.
    if (!upgradeRequired) told.lost = lostClaims(known, report);
    return work;
  };
  const offered = await waitForOffer(call, services, { report, none, memory, cancels, told, begin });
  const { jobs, claims, dryRuns, preflights, cancelled, lost, snapshots } = { ...offered, ...told };
  return {
    jobs,
    claims: [...lost, ...claims].map((answer) => JSON.parse(answer)),
    dry_run_jobs: dryRuns,
    preflight_jobs: preflights.map((job) => ({ ...job, expires_at: iso(job.expires_at) })),
    cancelled,
    schema_sync: snapshots,
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
  const questions = { wanted: wantedSnapshots(call.generation, report), holding: call.body.holding, claims: call.body.claim };
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
  return [{ stale: [], cancelled: [], unheld: [], signingKeyId: null }, work];
}

const nothingThere: Work = { jobs: [], dryRuns: [], dryRunSoon: false, preflightWaits: false };
