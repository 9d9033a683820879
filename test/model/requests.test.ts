import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.js';
import { share } from '../support/share.js';
import { openings, sequences } from './calls.js';
import { modelToml } from './people.js';
import { play } from './play.js';
import { quietStage, type Stage } from './stage.js';

/** More, or the one that failed again: `SVC_TEST_MODEL_RUNS=5000`, `SVC_TEST_MODEL_SEED=-769601907`. */
const { SVC_TEST_MODEL_RUNS: wished, SVC_TEST_MODEL_SEED: seed } = process.env;
const numRuns = Number(wished ?? share(20, 120));
/** A busy machine plays fewer of them, unless a number was asked for. */
const limit = wished === undefined ? { interruptAfterTimeLimit: 40_000 } : {};

let api: TestApi;
let stage: Stage;
beforeAll(async () => {
  api = await startTestApi({ toml: modelToml, times: { cancelWaitMs: 5 } });
  stage = await quietStage(api);
});
afterAll(() => api?.close());

describe('whatever people and agents call in any order (section 7)', () => {
  it('every row of the table of AG-45 and every status is reached as a model of the rules says', async () => {
    const met = new Set<string>();
    for (const opening of openings) for (const status of await play(stage, opening)) met.add(status);
    expect([...met].toSorted()).toEqual([
      ...['approved', 'cancelled', 'dispatched', 'executed', 'execution_lost', 'expired'],
      ...['failed', 'pending', 'rejected', 'running'],
    ]);
  }, 180_000);

  it(
    'every answer and every state is what a model of the rules says',
    async () => {
      const parameters = { numRuns, ...limit, ...(seed === undefined ? {} : { seed: Number(seed) }) };
      await fc.assert(
        fc.asyncProperty(sequences, async (sequence) => void (await play(stage, sequence))),
        parameters,
      );
    },
    Math.max(180_000, numRuns * 1000),
  );
});
