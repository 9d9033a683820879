import { expect, it } from 'vitest';
import { createReleases } from '../../lib/releases.js';
import { sleep } from '../../lib/sleep.js';

it('closes the last one first, one at a time; a failure is reported and stops no other', async () => {
  const told: unknown[] = [];
  const closed: string[] = [];
  const releases = createReleases((error) => told.push(error));
  releases.add(() => closed.push('first'));
  releases.add(() => {
    throw 'broken';
  });
  releases.add(() => Promise.reject('broken too'));
  releases.add(async () => {
    await sleep(5);
    closed.push('last');
  });
  await releases.all();
  expect(closed).toEqual(['last', 'first']);
  expect(told).toEqual(['broken too', 'broken']);
  await releases.all();
  expect(closed).toHaveLength(2);
});
