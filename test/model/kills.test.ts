import fc from 'fast-check';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { type System, startSystem } from '../support/system.js';
import { temporalAddress } from '../support/temporal.js';
import { type Call, openings, sequences } from './calls.js';
import { type Kill, type KillStage, killStage } from './kill-stage.js';
import { modelToml } from './people.js';
import { play } from './play.js';
import { names } from './victims.js';

/** More, or the one that failed again: `SVC_TEST_KILL_RUNS=300`, `SVC_TEST_MODEL_SEED=-769601907`. */
const { SVC_TEST_KILL_RUNS: wished, SVC_TEST_MODEL_SEED: seed } = process.env;
const numRuns = Number(wished ?? 8);
/** A busy machine plays fewer of them, unless a number was asked for. */
const limit = wished === undefined ? { interruptAfterTimeLimit: 30_000 } : {};

let stored: TestDatabase;
let system: System;
let stage: KillStage;
beforeAll(async () => {
  stored = await createTestDatabase();
  const address = await temporalAddress();
  system = await startSystem({
    databaseUrl: stored.url,
    temporalAddress: address,
    servers: 2,
    toml: modelToml,
    withoutAgent: true,
  });
  stage = await killStage(system, stored.url);
}, 240_000);
afterAll(async () => {
  await stage?.close();
  await system?.close();
  await stored?.drop();
});

const longest = 14;
/** Most calls take some milliseconds. */
const afterMs = fc.option(fc.constantFrom(0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30), { freq: 8 });
const kill: fc.Arbitrary<Kill> = fc.record({
  step: fc.nat(longest - 1),
  victim: fc.constantFrom('server-0', 'server-1', ...names),
  afterMs,
});

/** A lease that is over is the sweeper's, whenever it gets to it. */
const leftToTheWorker = (one: Call): Call => (one.call === 'clock' && one.clock === 'lease' ? { ...one, fires: false } : one);

describe('whatever people and agents call in any order while servers and workers are killed (section 7, ST-22)', () => {
  it(
    'RQ-I1, RQ-34, OP-I1: what was answered holds, what was not happened once or not at all, and everything ends',
    async () => {
      const parameters = { numRuns, ...limit, ...(seed === undefined ? {} : { seed: Number(seed) }) };
      await fc.assert(
        fc.asyncProperty(sequences, fc.array(kill, { minLength: 1, maxLength: 3 }), async (calls, kills) => {
          const sequence = calls.slice(0, longest).map(leftToTheWorker);
          stage.plan(kills.map((one) => ({ ...one, step: one.step % sequence.length })));
          await play(stage, sequence);
        }),
        { ...parameters, examples: [[openings[0]!, [{ step: 1, victim: 'server-0' as const, afterMs: 5 }]]] },
      );
    },
    Math.max(300_000, numRuns * 60_000),
  );
});
