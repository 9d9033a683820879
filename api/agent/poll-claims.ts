import type { AgentReport, PollAnswers } from '../../db/agents.js';
import type { Job } from '../../db/claimable-jobs.js';
import { GatewayError } from '../../domain/errors.js';
import type { Services } from '../context.js';
import { type Claimant, commitClaim } from './claim.js';

export interface Claimed {
  /** The exact answers of the claims (AG-39). */
  claims: string[];
  /** What could not be claimed because of a fault; what another agent took is left out. */
  jobs: Job[];
}

/** Claims these jobs for the instance that polls, as far as its free slots go (AG-80). One transaction per claim; never throws. */
export async function claimOffered(
  call: Claimant,
  services: Services,
  { report, jobs, leaseFloorMs }: { report: AgentReport; jobs: readonly Job[]; leaseFloorMs: number },
): Promise<Claimed> {
  const free = Math.max(0, report.maxConcurrent - report.inFlight);
  const claimed: Claimed = { claims: [], jobs: [] };
  await Promise.all(
    jobs.slice(0, free).map(async (job) => {
      try {
        const claiming = { requestId: job.id, claimId: null, pollInstance: report.instanceId, leaseFloorMs };
        claimed.claims.push(await commitClaim(call, services, claiming));
      } catch (error) {
        if (error instanceof GatewayError) return;
        services.log.warn({ error: String(error), request_id: job.id }, 'job not claimed by the poll');
        claimed.jobs.push(job);
      }
    }),
  );
  return claimed;
}

/** The claims of earlier polls of this instance whose answer it did not get, in pairs that it still serves (AG-81). */
export function lostClaims({ unheld }: PollAnswers, { scopes }: AgentReport): string[] {
  const serves = (one: PollAnswers['unheld'][number]) =>
    scopes.some(({ database, environment }) => database === one.database && environment === one.environment);
  return unheld.filter(serves).map(({ answer }) => answer);
}
