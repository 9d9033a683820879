import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, callApi } from '../../dev/api-call.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import type { Program } from '../support/program.js';
import { type System, startSystem } from '../support/system.js';
import { temporalAddress } from '../support/temporal.js';
import { databaseToml, dbaTeamToml, needsDbaToml, passesToml } from '../support/toml.js';
import { type PatientCalls, patientCalls, waitAt } from './calls.js';
import { countAll } from './count.js';
import { startLoad } from './load.js';
import { eventTypes, insertOf, waitMs, written } from './looks.js';

/** An approval on `short` can be resumed for a second; nobody approves what is on `hasty` within its second. */
const toml = [
  databaseToml('shop', ['staging', 'production', 'short', 'hasty']),
  dbaTeamToml,
  passesToml('staging'),
  needsDbaToml('production'),
  needsDbaToml('short', 'approval_ttl_secs = 1'),
  needsDbaToml('hasty', 'pending_ttl_secs = 1'),
].join('');

let stored: TestDatabase;
let system: System;
let calls: PatientCalls;
/** Calls through the balancer that got no answer, or a 503 that is not as documented (HT-27, HT-110). */
const failed: string[] = [];
beforeAll(async () => {
  stored = await createTestDatabase();
  system = await startSystem({
    databaseUrl: stored.url,
    temporalAddress: await temporalAddress(),
    toml,
    servers: 2,
    workers: 2,
    agents: 3,
    balanced: true,
    served: ['staging', 'production', 'short'],
  });
  calls = patientCalls(system, (call, answer) => {
    if (answer instanceof Error) failed.push(`${call}: ${answer.message} ${String(answer.cause ?? '')}`);
    else if (answer.status === 503) {
      const isDocumented = answer.body.code === 'service.draining' && Number(answer.headers.get('retry-after')) >= 1;
      if (!isDocumented) failed.push(`${call}: ${JSON.stringify(answer.body)}`);
    }
  });
}, 240_000);
afterAll(async () => {
  await system?.close();
  await stored?.drop();
});

/** One call at one server, past the balancer. */
const at = (server: number, who: 'alice' | 'bob', path: string, body?: Record<string, unknown>): Promise<Answer> =>
  callApi({ server: system.servers[server % 2]!.url, token: system.tokens[who] }, 'POST', path, body);
const act = (server: number, who: 'alice' | 'bob', id: string, what: string) => at(server, who, `/api/requests/${id}/${what}`);

const rounds = 12;
/** Plays this many rounds at once, each with its own word. */
const inRounds = (name: string, play: (word: string, round: number) => Promise<void>) =>
  Promise.all(Array.from({ length: rounds }, (_, round) => play(`${name}-${round}`, round)));

const countOf = async (id: string, type: string) => (await eventTypes(system, id)).filter((one) => one === type).length;
const sorted = (answers: Answer[]) => answers.map(({ status }) => status).toSorted();

describe('races over two servers, two workers and three agents', () => {
  it('RQ-52: of two approvals by one person, one at each server, one counts', async () => {
    await inRounds('twice', async (word) => {
      const id = await calls.create(word, 'production');
      const answers = await Promise.all([act(0, 'bob', id, 'approve'), act(1, 'bob', id, 'approve')]);
      expect(sorted(answers)).toEqual([200, 409]);
      expect(await countOf(id, 'request.approved')).toBe(1);
    });
  });

  it('RQ-I3: an approval at one and a cancel at the other end as both answers say', async () => {
    await inRounds('approve-cancel', async (word, round) => {
      const id = await calls.create(word, 'production');
      const [approve, cancel] = await Promise.all([act(round, 'bob', id, 'approve'), act(round + 1, 'alice', id, 'cancel')]);
      // Cancelled in either order: what was approved can be cancelled.
      expect([cancel.status, await calls.statusOf(id)]).toEqual([200, 'cancelled']);
      expect(await countOf(id, 'request.approved')).toBe(approve.status === 200 ? 1 : 0);
      expect([200, 409]).toContain(approve.status);
    });
  });

  it('RQ-87, RQ-I12: resumes at both servers around the end of the window dispatch once or never', async () => {
    await inRounds('resume-expiry', async (word, round) => {
      const id = await calls.create(word, 'short', insertOf(word));
      expect((await calls.act(system.tokens.bob, id, 'approve')).status).toBe(200);
      const endsAt = Date.parse(String((await calls.show(id)).dispatch_by));
      await sleep(Math.max(0, endsAt - Date.now() - 15 + 3 * round));
      const answers = await Promise.all([act(0, 'alice', id, 'resume'), act(1, 'alice', id, 'resume')]);
      if (answers.some(({ status }) => status === 200)) {
        expect(sorted(answers)[0]).toBe(200);
        expect([409, 410]).toContain(sorted(answers)[1]);
        await calls.untilExecuted(id);
        expect(await countOf(id, 'request.dispatched')).toBe(1);
      } else {
        expect(sorted(answers)).toEqual([410, 410]);
        await eventually(async () => (await calls.statusOf(id)) === 'expired', waitMs);
        expect(await countOf(id, 'request.dispatched')).toBe(0);
      }
    });
  });

  it('AG-I1: of three agents one takes each of many writes, and each agent takes some', async () => {
    const ids = await Promise.all(
      Array.from({ length: 48 }, (_, n) => calls.create(`claim-${n}`, 'staging', insertOf(`claim-${n}`, ' from pg_sleep(0.3)'))),
    );
    await Promise.all(ids.map(calls.untilExecuted));
    const sql = 'select agent_id, count(*)::int as count from executions where request_id = any($1) group by agent_id';
    const { rows } = await system.database.query<{ agent_id: string; count: number }>(sql, [ids]);
    expect(rows.length).toBe(3);
    expect(rows.reduce((sum, { count }) => sum + count, 0)).toBe(48);
    const words = await written(system);
    expect(ids.map((_, n) => words[`claim-${n}`])).toEqual(ids.map(() => 1));
  }, 120_000);

  it('AG-I4, RQ-72: a result at one server and a cancel at the other agree with what is written', async () => {
    await inRounds('result-cancel', async (word, round) => {
      const id = await calls.create(word, 'staging', insertOf(word, ' from pg_sleep(0.2)'));
      await sleep(100 + 25 * round);
      const cancel = await act(round, 'alice', id, 'cancel');
      await eventually(async () => !['dispatched', 'running'].includes(await calls.statusOf(id)), waitMs);
      const status = await calls.statusOf(id);
      expect(['executed', 'cancelled']).toContain(status);
      if (cancel.status !== 202) expect([cancel.status, status]).toEqual(status === 'executed' ? [409, status] : [200, status]);
      expect((await written(system))[word] ?? 0).toBe(status === 'executed' ? 1 : 0);
    });
  }, 120_000);

  it('RQ-I7: creations with one key at both servers make one request', async () => {
    await inRounds('key', async (word) => {
      const body = { database: 'shop', environment: 'production', detail: 'select 1', idempotency_key: word };
      const answers = await Promise.all(Array.from({ length: 6 }, (_, n) => at(n, 'alice', '/api/requests', body)));
      expect(sorted(answers)).toEqual([200, 200, 200, 200, 200, 201]);
      expect(new Set(answers.map(({ body: { id } }) => id)).size).toBe(1);
      const other = await at(0, 'alice', '/api/requests', { ...body, detail: 'select 2' });
      expect(other.status).toBe(409);
    });
  });

  it('HT-100: who waits at one server is woken by each move at the other', async () => {
    await inRounds('wait', async (word, round) => {
      const id = await calls.create(word, 'production', insertOf(word));
      const moves = [
        ['bob', 'approve'],
        ['alice', 'cancel'],
      ] as const;
      for (const [who, what] of moves) {
        const [woken] = await waitAt(system, round % 2, [id]);
        expect((await act(round + 1, who, id, what)).status).toBe(200);
        expect((await woken!).body.status).toBe(what === 'approve' ? 'approved' : 'cancelled');
      }
    });
  });
});

/** What the servers' logs have of calls that their database did not answer. */
const outagesOf = ({ servers }: System): string =>
  servers
    .flatMap((server) => [
      server.name,
      ...server
        .log()
        .split('\n')
        .filter((line) => line.includes('outage')),
    ])
    .join('\n');

async function restart(program: Program): Promise<void> {
  program.signal('SIGTERM');
  expect([program.name, await program.exited()]).toEqual([program.name, 'exit code 0']);
  await program.start();
}

describe('a restart of every server, worker and agent, one after the other, under load', () => {
  it('OP-I5, HT-110: no call fails but for 503s with Retry-After while a server drains, and every request ends', async () => {
    failed.length = 0;
    const load = startLoad(system, calls, { callers: 6, seed: 19 });
    for (const program of [...system.servers, ...system.workers, ...system.agents]) {
      const enough = load.played.length + 12;
      await eventually(() => load.played.length >= enough, waitMs);
      await restart(program);
    }
    await load.stop(AbortSignal.timeout(waitMs));
    const { counts, findings } = await countAll(system, calls, load);
    expect(findings).toEqual([]);
    expect(failed, outagesOf(system)).toEqual([]);
    expect(counts.requests).toBeGreaterThan(84);
  }, 600_000);
});
