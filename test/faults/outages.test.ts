import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noteLeftOut } from '../support/not-run.js';
import { outages } from './outages.js';
import { playSchedule } from './schedule.js';
import { openStage, type Stage } from './stage.js';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
}, 240_000);
afterAll(() => stage?.close());

/** Longer than a call waits for its database (OP-70). */
const lengths = { frozen: 6, temporalAway: 4, usual: 4 };

describe.each(outages.map((outage, index) => ({ outage, seed: index + 1, name: outage.name })))(
  'two servers, two workers and three agents under load: $name',
  ({ outage, seed }) => {
    it('OP-I1: nothing acknowledged is lost, no write is doubled, and everything ends', async () => {
      const why = outage.missing?.(stage) ?? null;
      if (why !== null) return noteLeftOut(import.meta.url, `${outage.name}: ${why}`);
      const plan = { seed, minutes: 0, requests: 0, callers: 4, lengths, outages: [outage], kills: false, say: () => {} };
      const { findings, counts } = await playSchedule(stage, plan);
      expect(findings).toEqual([]);
      expect(counts.requests).toBeGreaterThan(3);
    }, 600_000);
  },
);
