import type { AgentReport, PollAnswers } from '../../db/agents.js';
import { type FoundJob, listJobs } from '../../db/claimable-jobs.js';
import { hasEnded } from '../../db/standing.js';
import { GatewayError } from '../../domain/errors.js';
import type { Services } from '../context.js';
import { type Claimant, commitClaim } from './claim.js';
import { claimantOf } from './offer.js';

export interface Claimed {
  /** The exact answers of the claims (AG-39). */
  claims: string[];
  /** What could not be claimed because of a fault; what another agent took is left out. */
  jobs: FoundJob[];
}

/** What a poll has found, and who asks for it. */
export interface Found {
  report: AgentReport;
  /** Oldest dispatch first. */
  jobs: readonly FoundJob[];
  /** How many more to find if other agents took all of these. */
  limit: number;
  leaseFloorMs: number;
}

/** How often a poll looks again for jobs that no other agent took first. */
const maxLooks = 5;

/** Claims for the instance that polls as many jobs as it has free slots (AG-80). One transaction per claim. */
export async function claimOffered(call: Claimant, services: Services, found: Found): Promise<Claimed> {
  let claimed: Claimed = { claims: [], jobs: [] };
  if (freeSlots(found.report) === 0) return claimed;
  let { jobs } = found;
  for (let looks = 1; jobs.length > 0; looks++) {
    claimed = await claimSome(call, services, { ...found, jobs });
    if (claimed.claims.length + claimed.jobs.length > 0 || looks === maxLooks) break;
    jobs = await listJobs(services.database, claimantOf(services, found.report), found.limit);
  }
  return claimed;
}

/** How many more jobs the agent can run. */
export const freeSlots = ({ maxConcurrent, inFlight }: AgentReport) => Math.max(0, maxConcurrent - inFlight);

/** Takes the next job whenever one turns out to be taken by another agent. Throws only if the agent's token has been revoked. */
async function claimSome(
  call: Claimant,
  services: Services,
  { report, jobs, leaseFloorMs }: Omit<Found, 'limit'>,
): Promise<Claimed> {
  const claimed: Claimed = { claims: [], jobs: [] };
  const left = [...jobs];
  const fillSlot = async () => {
    for (let job = left.shift(); job !== undefined; job = left.shift()) {
      try {
        const terms = { requestId: job.id, found: job.found, claimId: null, pollInstance: report.instanceId, leaseFloorMs };
        claimed.claims.push(await commitClaim(call, services, terms));
        return;
      } catch (error) {
        if (hasEnded(error)) throw error;
        if (error instanceof GatewayError && !error.code.startsWith('service.')) continue;
        services.log.warn({ error: String(error), request_id: job.id }, 'job not claimed by the poll');
        claimed.jobs.push(job);
        // It may have been claimed all the same (AG-81), so its slot stays taken.
        return;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(freeSlots(report), jobs.length) }, fillSlot));
  return claimed;
}

/** The claims of earlier polls of this instance whose answer it did not get, in pairs that it still serves (AG-81). */
export function lostClaims({ unheld }: PollAnswers, { scopes }: AgentReport): string[] {
  const serves = (one: PollAnswers['unheld'][number]) =>
    scopes.some(({ database, environment }) => database === one.database && environment === one.environment);
  return unheld.filter(serves).map(({ answer }) => answer);
}
