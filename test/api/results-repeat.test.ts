import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, startTestApi, type TestApi } from '../support/api.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { type SwallowingProxy, startSwallowingProxy } from '../support/swallowing-proxy.js';
import { callsToml } from './calls-toml.js';
import { type GatewayCalls, gatewayCalls, untilTaken } from './gateway-calls.js';
import { large } from './large-result.js';

let stored: TestDatabase;
let proxy: SwallowingProxy;
/** The agent's server reaches Postgres through the proxy; readers ask another one. */
let api: TestApi;
let readers: TestApi;
let calls: GatewayCalls;
let owner: string;
beforeAll(async () => {
  stored = await createTestDatabase();
  proxy = await startSwallowingProxy(Number(new URL(stored.url).port));
  const databaseUrl = Object.assign(new URL(stored.url), { hostname: '127.0.0.1', port: String(proxy.port) }).href;
  readers = await startTestApi({ toml: callsToml, database: stored });
  api = await startTestApi({ toml: callsToml, database: stored, databaseUrl, stateDir: readers.stateDir });
  calls = gatewayCalls(readers);
  owner = await readers.createUser('owner', { roles: ['requester'] });
  await calls.poll(['shop/staging']);
});
afterAll(async () => {
  await api?.close();
  await readers?.close();
  await proxy?.close();
  await stored?.drop();
});

const small = '{"rows":[{"n":9007199254740993}]}';

/** The names of the objects of a request in the store. */
const objects = (id: string) => readdir(join(readers.config.resultStorage.rootDir, id)).catch(() => []);

/** One submission whose `step`-th message to Postgres is lost, or its answer; the agent repeats it until it is accepted. */
async function brokenAt(
  step: number,
  how: 'message' | 'answer',
  executionId: string,
  data: string,
): Promise<{ cut: boolean; last: Answer }> {
  const body = { success: true, result_data: data };
  let messages = 0;
  proxy.onClientData = () => {
    messages += 1;
    if (messages !== step) return 'pass';
    if (how === 'message') proxy.cut();
    return 'drop';
  };
  const first = await gatewayCalls(api).submit(executionId, body);
  const cut = messages >= step;
  proxy.onClientData = null;
  const last = first.status === 503 ? await untilTaken(() => gatewayCalls(api).submit(executionId, body)) : first;
  return { cut, last };
}

describe('a submission that is broken off between any two of its steps, and repeated (RS-I4, HT-I7)', () => {
  it.each([
    ['message', 'in the row', small],
    ['answer', 'in the row', small],
    ['message', 'in the store', large(small)],
    ['answer', 'in the store', large(small)],
  ] as const)(
    'RS-I4, RS-48, RS-50: with a lost %s to or from Postgres leaves one result %s, one event and one status',
    async (how, where, data) => {
      let steps = 0;
      for (let step = 1; ; step += 1) {
        const run = await calls.claimed(await calls.created(owner, { environment: 'staging' }));
        const { cut, last } = await brokenAt(step, how, run.executionId, data);
        expect([last.status, last.body.status]).toEqual([200, 'executed']);
        const content = await calls.content(owner, run.id);
        expect(content.text.endsWith(`"result_data":${data}}`)).toBe(true);
        expect(await calls.sql('select 1 from results where request_id = $1', [run.id])).toHaveLength(1);
        expect(await objects(run.id)).toEqual(where === 'in the row' ? [] : [run.executionId]);
        const ends = (await calls.eventTypes(run.id)).filter((type) =>
          /^(execution|request)\.(completed|executed|failed)/.test(type),
        );
        expect(ends).toHaveLength(1);
        expect((await calls.executions(owner, run.id)).body.executions).toMatchObject([
          { id: run.executionId, status: 'completed' },
        ]);
        if (!cut) break;
        steps = step;
      }
      // The credential with the execution and its request, and the write that commits.
      expect(steps).toBeGreaterThanOrEqual(2);
    },
    120_000,
  );

  it.each([
    ['small', (json: string) => json],
    ['large', large],
  ])(
    'RS-I4: another %s text for the same execution is refused whoever was first, and no reader ever sees it',
    async (_size, sized) => {
      const run = await calls.claimed(await calls.created(owner, { environment: 'staging' }));
      const texts = Array.from({ length: 6 }, (_, index) => sized(`{"rows":[${index}]}`));
      const servers = [calls, gatewayCalls(api)];
      const answers = await Promise.all(
        texts.map((text, index) => servers[index % 2]!.submit(run.executionId, { success: true, result_data: text })),
      );
      const taken = texts.filter((_, index) => answers[index]!.status === 200);
      expect(taken).toHaveLength(1);
      expect(
        answers.filter(({ status }) => status !== 200).map(({ status, body: refused }) => `${status} ${refused.code}`),
      ).toEqual(Array(5).fill('409 execution.conflict'));
      for (const answer of [await calls.content(owner, run.id), await gatewayCalls(api).stream(owner, run.id)])
        expect(answer.text).toContain(`"result_data":${taken[0]}}`);
    },
  );
});
