import { expect, it } from 'vitest';
import type { Database } from '../../db/client.js';
import { createLog } from '../../runtime/log.js';
import { createMetrics } from '../../runtime/metrics.js';
import { createTroubles } from '../../runtime/troubles.js';
import { createActivities } from '../../worker/activities.js';

it('steps of many workflows that fail from the same are told in one line, and that they work again (OP-95)', async () => {
  const lines: string[] = [];
  const write = (line: string) => lines.push(JSON.parse(line).msg);
  const log = createLog({ process: 'worker', version: '1', level: 'info', format: 'json', write });
  let query = async () => Promise.reject(new Error('no database')) as Promise<never[]>;
  const { step } = createActivities({
    database: { query: () => query() } as unknown as Database,
    troubles: createTroubles(log),
    log,
    metrics: createMetrics('1'),
    onMoved: () => {},
    configuration: {} as never,
  });
  const stepAll = () => Promise.allSettled(Array.from({ length: 20 }, () => step(crypto.randomUUID(), null)));
  expect((await stepAll()).every(({ status }) => status === 'rejected')).toBe(true);
  query = async () => [];
  await stepAll();
  const text = 'a step of a workflow failed; it is tried again';
  expect(lines).toEqual([text, `over: ${text}`]);
});
