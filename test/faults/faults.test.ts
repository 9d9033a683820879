import { randomInt } from 'node:crypto';
import { appendFileSync, cpSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { noteLeftOut } from '../support/not-run.js';
import { outages } from './outages.js';
import { type Outcome, playSchedule } from './schedule.js';
import { openStage } from './stage.js';

/** What `npm run faults` asks for (dev/faults.mjs). */
interface Asked {
  seed?: number;
  minutes?: number;
  requests?: number;
  callers?: number;
  /** Words, separated by commas, one of which is in the name of each outage that is played. */
  only?: string;
  /** Seconds. */
  frozen?: number;
  temporalAway?: number;
  /** Gets a line for each outage. */
  report?: string;
  /** Where the logs go if something is found; a new folder if absent. */
  logs?: string;
}
const asked: Asked = JSON.parse(process.env.SVC_TEST_FAULTS ?? '{}');
const { seed = randomInt(2 ** 31), minutes = 1, requests = 0, callers = 6, frozen = 6, temporalAway = 6 } = asked;

const words = (asked.only ?? '').split(',');
const chosen = outages.filter(({ name }) => words.some((word) => name.includes(word)));

const say = (line: string) => void (asked.report === undefined || appendFileSync(asked.report, `${line}\n`));

it('OP-I1, RQ-I1, ST-22: whatever fails in whatever order, nothing acknowledged is lost, no write is doubled, nothing is stuck', async () => {
  const stage = await openStage();
  const logs = () => {
    const folder = asked.logs ?? mkdtempSync('/tmp/svc-faults-');
    cpSync(stage.system.logFolder, folder, { recursive: true });
    for (const [n, file] of stage.postgres.logFiles().entries()) cpSync(file, join(folder, `postgres-${n}.log`));
    return `seed ${seed}; the logs are in ${folder}`;
  };
  try {
    const lengths = { frozen, temporalAway, usual: 4 };
    const outcome = await playSchedule(stage, {
      seed,
      minutes,
      requests,
      callers,
      lengths,
      outages: chosen,
      kills: true,
      say,
    }).catch((error: Error) => {
      throw new Error(`${error.message} (${logs()})`, { cause: error });
    });
    say(JSON.stringify({ seed, played: outcome.played, left_out: outcome.leftOut, ...outcome.counts }));
    for (const [name, why] of Object.entries(outcome.leftOut)) noteLeftOut(import.meta.url, `${name}: ${why}`);
    expectNothingFound(outcome, logs);
  } finally {
    await stage.close();
  }
}, 7_200_000);

function expectNothingFound({ counts, findings }: Outcome, logs: () => string): void {
  if (findings.length > 0) say(findings.join('\n'));
  expect(findings, findings.length > 0 ? logs() : '').toEqual([]);
  expect(counts.requests).toBeGreaterThan(20);
}
