import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../db/client.js';
import { callersChannel, workersChannel } from '../../db/notification-batch.js';
import { type Notifications, openNotifications, topic } from '../../db/notifications.js';
import { openDatabase } from '../../db/open-database.js';
import { createTestDatabase, type TestDatabase, testMacs } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { approve, cancel, claim, storeRequest } from '../support/requests.js';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';

let stored: TestDatabase;
let proxy: TcpProxy;
/** Another process: what it commits goes through no proxy, and it tells nobody. */
let mute: Database;
let database: Database;
let listening: Notifications;
let errors: unknown[];
beforeAll(async () => {
  stored = await createTestDatabase();
  proxy = await startTcpProxy(stored.url);
  const shared = {
    url: stored.url,
    poolMax: 3,
    connectTimeoutMs: 3000,
    statementTimeoutMs: 10_000,
    applicationName: 'test',
    macs: testMacs,
  };
  mute = openDatabase(shared);
  database = openDatabase(shared);
  errors = [];
  listening = openNotifications({
    url: proxy.url,
    database,
    applicationName: 'listener',
    onLost: (error) => errors.push(error),
  });
  await eventually(async () => (await sessions()).length > 0);
});
afterAll(async () => {
  await listening?.close();
  await Promise.all([database?.close(), mute?.close()]);
  await proxy?.close();
  await stored?.drop();
});

const sessions = () => mute.query<{ pid: number }>(`select pid from pg_stat_activity where application_name = 'listener listen'`);

/** Resolves at the next wake-up of the topic; if none comes, the test's own timeout ends it. */
const woken = (name: string) =>
  new Promise<void>((resolve) => {
    const release = listening.subscribe(name, () => {
      release();
      resolve();
    });
  });

/** Committed so long ago that only a listener that looks at everything after its reconnect hears of it. */
async function committedLongAgo(): Promise<string> {
  const id = await storeRequest(mute);
  await mute.query(`update requests set updated_at = updated_at - interval '1 hour' where id = $1`, [id]);
  return id;
}

describe('the listening connection (OP-71, HT-102)', () => {
  it.each(['cut', 'freeze'] as const)(
    'HT-102: %s while a move is committed elsewhere, wakes its waiters once it is back',
    async (how) => {
      const [moved, old] = [await storeRequest(mute), await committedLongAgo()];
      const wakes = [woken(topic.request(moved)), woken(topic.request(old))];
      proxy[how]();
      await approve(mute, moved);
      proxy.heal();
      await Promise.all(wakes);
    },
  );

  it('HT-102: is replaced when it is dead and nobody says so', async () => {
    const id = await committedLongAgo();
    const [before] = await sessions();
    const [wake, told] = [woken(topic.request(id)), errors.length];
    proxy.strand();
    await wake;
    expect(errors.length).toBeGreaterThan(told);
    expect((await sessions()).map(({ pid }) => pid)).not.toEqual([before!.pid]);
  });

  it('HT-102: is replaced when Postgres ends it', async () => {
    const id = await committedLongAgo();
    const wake = woken(topic.request(id));
    await mute.query(`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'listener listen'`);
    await wake;
  });

  it('HT-100: brings all news to other processes, however much is committed at once', async () => {
    const id = await committedLongAgo();
    const wake = woken(topic.request(id));
    const teller = openNotifications({ url: stored.url, database: mute, applicationName: 'teller' });
    try {
      teller.publish([...Array.from({ length: 10_000 }, (_, n) => topic.request(`${n}`)), topic.request(id)]);
      await wake;
    } finally {
      await teller.close();
    }
  });

  it('HT-102: looks for commits whose notification never went out', async () => {
    const id = await storeRequest(mute);
    const dispatched = await storeRequest(mute, { dispatched: true });
    await Promise.all([
      woken(topic.request(id)),
      woken(topic.outcome(id)),
      woken(topic.request(dispatched)),
      woken(topic.jobs('shop', 'production')),
    ]);
  });

  it('HT-102, AG-82: looks for cancels of running statements whose notification never went out', async () => {
    const id = await storeRequest(mute, { dispatched: true });
    await claim(mute, id);
    const wake = woken(topic.cancels('agent-1'));
    await cancel(mute, id);
    await wake;
  });
});

describe('what a process tells the others', () => {
  const heardBy = (channel: typeof callersChannel | typeof workersChannel, applicationName: string) =>
    openNotifications({ url: stored.url, database: mute, applicationName, channels: [channel] });
  let callers: Notifications;
  let workers: Notifications;
  beforeAll(async () => {
    callers = heardBy(callersChannel, 'callers');
    workers = heardBy(workersChannel, 'workers');
    const names = ['callers listen', 'workers listen'];
    const text = 'select count(*)::int as count from pg_stat_activity where application_name = any($1::text[])';
    await eventually(async () => (await mute.query<{ count: number }>(text, [names]))[0]?.count === 2);
    // A session is there before it listens.
    const heard = { callers: false, workers: false };
    callers.subscribe('k:ready', () => (heard.callers = true));
    workers.subscribe(topic.cards, () => (heard.workers = true));
    await eventually(async () => {
      listening.publish(['k:ready', topic.cards]);
      return heard.callers && heard.workers;
    });
  });
  afterAll(async () => {
    await Promise.all([callers?.close(), workers?.close()]);
  });

  /** The topics that arrive until the last one does, which is sent behind all others. */
  const arriving = async (at: Notifications, names: string[], last: string) => {
    const arrived: string[] = [];
    const releases = names.map((name) => at.subscribe(name, () => arrived.push(name)));
    await new Promise<void>((resolve) => releases.push(at.subscribe(last, resolve)));
    for (const release of releases) release();
    return arrived;
  };

  it('reaches workers only with what their jobs wait for, and all with a new configuration', async () => {
    const names = [topic.outcome('1'), topic.outbox];
    const atCallers = arriving(callers, names, topic.generation);
    const atWorkers = arriving(workers, names, topic.generation);
    listening.publish(names);
    listening.publish([topic.generation]);
    expect(await atCallers).toEqual([topic.outcome('1')]);
    expect(await atWorkers).toEqual([topic.outbox]);
  });

  it('goes out though nothing urgent follows, and again after that', async () => {
    for (const id of ['2', '3']) {
      const heard = new Promise<void>((resolve) => callers.subscribe(topic.request(id), resolve));
      listening.publish([topic.request(id)]);
      await heard;
      listening.publish([topic.outcome(id), topic.request(id)]);
    }
    const heard = new Promise<void>((resolve) => callers.subscribe(topic.outcome('last'), resolve));
    listening.publish([topic.outcome('last')]);
    await heard;
  });

  it('goes out while the listening connection is dead', async () => {
    const heard = new Promise<void>((resolve) => callers.subscribe(topic.outcome('4'), resolve));
    // Only a new connection wakes who waits for it.
    const replaced = woken(topic.outcome('never published'));
    proxy.strand();
    listening.publish([topic.outcome('4')]);
    await heard;
    await replaced;
  });
});
