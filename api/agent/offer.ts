import { signExplainToken } from '../../crypto/explain-token.js';
import type { AgentReport } from '../../db/agents.js';
import { type FoundJob, findToClaim, findWork, listJobs, type Work } from '../../db/claimable-jobs.js';
import type { Vouched } from '../../db/client.js';
import type { DryRunOffer } from '../../db/dry-run-jobs.js';
import { markOffered } from '../../db/migration-pairs.js';
import { claimPreflightJobs, type PreflightClaim } from '../../db/preflight-jobs.js';
import { hasEnded, type Standing, transactionBy } from '../../db/standing.js';
import { isMutatingMigration } from '../../domain/request/types.js';
import type { Services } from '../context.js';
import { registered } from '../requests/pair.js';

/** What a poll asks for, capped at the protocol's maxima. */
export interface Wanted {
  jobs: number;
  explains: number;
  /** Whether what is found is to be claimed. */
  claim: boolean;
}

export interface Offer {
  jobs: FoundJob[];
  /** The answers of claims by the poll (AG-80). */
  claims: string[];
  dryRuns: DryRunOffer[];
  preflights: SignedPreflight[];
  /** Executions to cancel (AG-82). */
  cancelled: string[];
}

/** The agent that polls, and with what right. */
interface Asker {
  report: AgentReport;
  actor: Standing;
}

export interface SignedPreflight extends PreflightClaim {
  explain_token: string;
}

export const nothingOffered: Offer = { jobs: [], claims: [], dryRuns: [], preflights: [], cancelled: [] };

/** The agent as one that looks for jobs, with what the configuration says of its pairs now: a poll may have waited through a reload, and its agent claims by the new one. */
export function claimantOf(services: Services, report: AgentReport) {
  const generation = services.generation();
  const scopes = report.scopes.map((pair) => {
    const entry = registered(generation, pair);
    return { ...pair, registered: entry !== undefined, dialect: entry?.dialect ?? null };
  });
  return { ...report, scopes };
}

/** What waits for the agent. A fault of EXPLAIN jobs must not keep it from its jobs (AG-22). */
export function lookForWork(
  { log }: Services,
  db: Vouched,
  claimant: ReturnType<typeof claimantOf>,
  wanted: Wanted,
): Promise<Work> {
  const found = wanted.claim ? findToClaim(db, claimant, wanted) : findWork(db, claimant, wanted);
  return found.catch(async (error: unknown) => {
    const jobs = await listJobs(db, claimant, wanted.jobs);
    log.warn({ error: String(error) }, 'explain jobs not offered');
    return { jobs, dryRuns: [], dryRunSoon: false, preflightWaits: false };
  });
}

/** Work that the agent could take now (AG-17 to AG-22), if any, of what a look found. This claims preflight jobs, so it asks `mayClaim` right before. */
export async function offer(
  services: Services,
  { report, actor }: Asker,
  { wanted, work }: { wanted: Wanted; work: Work },
  mayClaim: () => boolean,
): Promise<Offer> {
  const { jobs, dryRuns, preflightWaits } = work;
  // Offering a migration starts the period in which it holds back the next one (AG-17).
  const migrations = jobs.filter(({ operation }) => isMutatingMigration(operation)).map(({ id }) => id);
  if (migrations.length > 0) await markOffered(services.database, migrations);
  const room = wanted.jobs === 0 || !preflightWaits ? 0 : roomForPreflight(report, wanted, jobs, dryRuns);
  let preflights: SignedPreflight[] = [];
  if (room > 0 && mayClaim()) {
    preflights = await takePreflights(services, { report, actor }, room).catch((error: unknown) => {
      if (hasEnded(error)) throw error;
      services.log.warn({ error: String(error) }, 'preflight jobs not offered');
      return [];
    });
  }
  return { ...nothingOffered, jobs, dryRuns: dryRuns.slice(0, wanted.explains - preflights.length), preflights };
}

/** Claims preflight jobs and signs a token for this agent with each (HD-81). */
async function takePreflights(services: Services, { report, actor }: Asker, room: number): Promise<SignedPreflight[]> {
  const claimed = await transactionBy(services.database, actor, (tx) => claimPreflightJobs(tx, report, room));
  return Promise.all(
    claimed.map(async (job) => {
      const signer = await services.signingKeys.signer(job.signingKeyId, services.database);
      const { id: jobId, database, environment, sql } = job;
      const terms = { jobId, kind: 'preflight', database, environment, sql, agentId: report.id } as const;
      return { ...job, explain_token: signExplainToken(terms, signer, new Date(job.now)) };
    }),
  );
}

/** AG-21. One place at least, which a dry run gives up: somebody waits for a preflight. */
function roomForPreflight(report: AgentReport, wanted: Wanted, jobs: FoundJob[], dryRuns: DryRunOffer[]): number {
  const slots = report.maxConcurrent - report.inFlight - report.inFlightPreflight - jobs.length;
  const places = Math.max(wanted.explains - dryRuns.length, Math.min(wanted.explains, 1));
  return Math.min(places, slots);
}

export const isEmpty = ({ jobs, claims, dryRuns, preflights, cancelled }: Offer): boolean =>
  jobs.length + claims.length + dryRuns.length + preflights.length + cancelled.length === 0;
