import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sleep } from '../../lib/sleep.js';
import { eventually } from '../support/processes.js';
import { numbered, openSealing, readChain, type Sealing, writeEvents } from '../support/sealing.js';

const script = fileURLToPath(new URL('../support/sealing-process.ts', import.meta.url));

let sealing: Sealing;
beforeAll(async () => {
  sealing = await openSealing();
});
afterAll(() => sealing.close());

async function startSealer(): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['--import', 'tsx', script, sealing.stored.url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout!, 'data');
  return child;
}

it('sealing processes of which one after the other is killed beside writers make one line (AU-I1)', async () => {
  const sealers = await Promise.all(Array.from({ length: 5 }, startSealer));
  const writing = new AbortController();
  const acknowledged: string[] = [];
  const writers = numbered('writer', 4).map(async (name) => {
    for (let turn = 0; !writing.signal.aborted; turn += 1) {
      const names = numbered(`${name}.${turn}`, 1 + (turn % 5));
      await writeEvents(sealing.database, names);
      acknowledged.push(...names);
      await sleep(10);
    }
  });
  for (let round = 0; round < 4; round += 1) {
    await sleep(300 + round * 137);
    const victim = sealers.shift()!;
    const gone = once(victim, 'exit');
    victim.kill('SIGKILL');
    await gone;
  }
  // A look at the whole chain would meet it half written.
  const beyond = 'select 1 from audit_events where seq > 220 limit 1';
  await eventually(async () => (await sealing.database.query(beyond)).length > 0);
  writing.abort();
  await Promise.all(writers);
  for (const one of sealers) one.kill('SIGKILL');
  await Promise.all(sealers.map((one) => one.exitCode ?? one.signalCode ?? once(one, 'exit')));
  const before = (await readChain(sealing)).length;
  expect(before).toBeGreaterThan(200);
  await sealing.sealAll();
  const names = (await readChain(sealing)).flatMap(({ event_type, resource_id }) =>
    event_type === 'config.synced' ? [resource_id] : [],
  );
  expect(names.toSorted()).toEqual(acknowledged.toSorted());
  for (const [writer] of writers.entries()) {
    const own = (all: readonly (string | null)[]) => all.filter((name) => name?.startsWith(`writer-${writer}.`));
    expect(own(names)).toEqual(own(acknowledged));
  }
}, 180_000);
