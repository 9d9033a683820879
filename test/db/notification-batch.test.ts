import { expect, it } from 'vitest';
import { limitDatabaseWork, remainingMs } from '../../db/call-limit.js';
import type { Database } from '../../db/client.js';
import { batchSender, callersChannel } from '../../db/notification-batch.js';
import { sleep } from '../../lib/sleep.js';

it('news is sent with time of its own, whichever call began to send (OP-70)', async () => {
  const left: number[] = [];
  const query = async () => {
    left.push(remainingMs(4000));
    await sleep(30);
    return [];
  };
  const batch = batchSender({
    database: { query } as unknown as Database,
    sender: 'this process',
    channelsOf: () => [callersChannel],
    isUrgent: () => true,
    sendOnListener: () => null,
  });
  await limitDatabaseWork(20, async () => batch.add(['first']));
  for (let n = 0; n < 5; n += 1) {
    batch.add([`later ${n}`]);
    await sleep(20);
  }
  await batch.idle();
  expect(left.length).toBeGreaterThan(2);
  expect(left.every((ms) => ms === 4000)).toBe(true);
});
