import { randomUUID } from 'node:crypto';
import type { ApprovalMacs } from '../crypto/approval-macs.js';
import { decisionCode, requestCode, stateCode } from '../db/vouching.js';
import type { StoredRequest } from '../domain/request/types.js';
import { viewOf } from '../domain/request/view.js';
import { sleep } from '../lib/sleep.js';
import { untilNoBacklog } from './backlog.js';
import { type Copier, prepareCopier } from './copied-rows.js';
import { asGateway } from './own-database.js';
import type { BenchSystem } from './system.js';
import { type Kind, kinds, makeTemplates } from './templates.js';

const perBatch = 10_000;
const lookMs = 500;
/** Well below `temporal.max_backlog`, above which no request can be made. */
const toldAtOnce = 2000;
const dayMs = 24 * 3_600_000;

interface Copies {
  /** How many have ended, in the last 80 days. */
  ended: number;
  /** How many have ended more than the 90 days ago after which they are purged. */
  old: number;
  /** How many were made just now and wait for the DBA team, each with its workflow. */
  waiting: number;
}

/**
 * Stores requests as if they had been made: copies of real ones with their decisions, executions, results, plans and audit events, under ids,
 * instants and authentication codes of their own. Three in ten are alice's, one in twenty bob's, the rest of 200 others. Lists alone need less
 * (bench/stored-requests.ts).
 */
export async function storeCopies(system: BenchSystem, { ended, old, waiting }: Copies): Promise<void> {
  await asGateway(system, async ({ database, macs }) => {
    const templates = await makeTemplates(system, database);
    const client = await system.database.connect();
    try {
      const store = storing({ templates, macs, copier: await prepareCopier(client) });
      await store(old, endedKind, { from: 100 * dayMs, to: 91 * dayMs });
      await store(ended, endedKind, { from: 80 * dayMs, to: 10_000 });
      for (let left = waiting; left > 0; left -= toldAtOnce) {
        // As new as they say: the reconciler would miss the workflows of older ones, and start all of them again.
        await store(Math.min(left, toldAtOnce), () => 'waiting', { from: 1000, to: 0 });
        await untilNoBacklog(system);
      }
    } finally {
      client.release();
    }
  });
  // Autovacuum comes a minute later: until then plans would be those of empty tables.
  await system.database.query('analyze');
}

/** So many that have ended, sealed and known to vacuum; the calls that follow meet a large database at rest. */
export async function storeEnded(system: BenchSystem, stored: number): Promise<void> {
  if (stored === 0) return;
  await storeCopies(system, { ended: stored, old: 0, waiting: 0 });
  await untilSealed(system);
  await system.database.query('vacuum (analyze)');
}

export async function untilSealed({ database }: BenchSystem): Promise<void> {
  const unsealed = async () => (await database.query('select 1 from audit_events where seq is null limit 1')).rows.length;
  while ((await unsealed()) > 0) await sleep(lookMs);
}

const endedKind = (n: number): Kind => {
  const share = n % 100;
  if (share < 70) return 'read';
  if (share < 95) return 'approved';
  return share < 97 ? 'failed' : 'rejected';
};

interface Store {
  templates: Readonly<Record<Kind, StoredRequest>>;
  macs: ApprovalMacs;
  copier: Copier;
}

/** Answers what stores `count` requests whose creations lie evenly between `from` and `to` milliseconds ago. */
function storing({ templates, macs, copier }: Store) {
  return async (count: number, kindOf: (n: number) => Kind, { from, to }: { from: number; to: number }) => {
    for (let done = 0; done < count; done += perBatch) {
      const batch: Record<Kind, object[]> = { read: [], approved: [], failed: [], rejected: [], waiting: [] };
      for (let n = done; n < Math.min(count, done + perBatch); n += 1) {
        const kind = kindOf(n);
        const createdAt = Math.round(Date.now() - from + ((from - to) * n) / count);
        batch[kind].push(copyOf(templates[kind], { createdAt, requester: requesterOf(n) }, macs));
      }
      for (const kind of kinds) await copier(templates[kind], batch[kind]);
    }
  };
}

function requesterOf(n: number): string {
  if (n % 10 < 3) return 'alice';
  return n % 20 === 5 ? 'bob' : `user-${n % 200}`;
}

/** What differs in a copy (`Copier`). */
function copyOf(template: StoredRequest, own: { createdAt: number; requester: string }, macs: ApprovalMacs) {
  const shiftMs = own.createdAt - template.createdAt;
  const shifted = (at: number | null) => (at === null ? null : at + shiftMs);
  const executionId = template.execution === null ? null : randomUUID();
  const copy: StoredRequest = {
    ...template,
    ...own,
    id: randomUUID(),
    expiresAt: shifted(template.expiresAt),
    approvedAt: shifted(template.approvedAt),
    dispatchBy: shifted(template.dispatchBy),
    attempts: template.attempts.map((attempt) => ({ ...attempt, id: executionId! })),
    decisions: template.decisions.map((decision) => ({ ...decision, at: decision.at + shiftMs })),
  };
  const [decision] = copy.decisions;
  return {
    id: copy.id,
    execution_id: executionId,
    requester: copy.requester,
    shift: `${shiftMs} milliseconds`,
    request_mac: requestCode(copy, macs),
    state_mac: stateCode(copy, macs),
    decision_mac: decision === undefined ? null : decisionCode(copy, decision, macs),
    view: copy.status === 'pending' ? viewOf(copy, Date.now()) : null,
  };
}
