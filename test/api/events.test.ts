import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { shopToml, startTestApi, type TestApi } from '../support/api.js';
import { roleToml } from '../support/toml.js';
import { signedIn } from './console-calls.js';
import { bearer, type EventReader, readEvents } from './event-reader.js';
import { type GatewayCalls, gatewayCalls } from './gateway-calls.js';

const toml = `${shopToml}${roleToml('narrow', ['request.view:any'], { databases: ['other'] })}`;
type Who = 'alice' | 'bob' | 'bea' | 'carol' | 'eve' | 'nina';

let api: TestApi;
let other: TestApi;
let calls: GatewayCalls;
let tokens: Record<Who, string>;
beforeAll(async () => {
  api = await startTestApi({ toml });
  other = await api.another();
  calls = gatewayCalls(api);
  tokens = await api.createUsers<Who>({
    alice: { roles: ['requester'] },
    bob: { roles: ['approver'], groups: ['dba-team'] },
    bea: { roles: ['approver'], groups: ['dba-team'] },
    carol: { roles: ['requester'] },
    eve: { roles: ['approver'] },
    nina: { roles: ['narrow'] },
  });
});
afterAll(async () => {
  await other?.close();
  await api?.close();
});
let open: EventReader[] = [];
afterEach(() => {
  for (const reader of open) reader.close();
  open = [];
});

async function follow(who: string, where: { url: string } = api, headers = bearer(tokens[who as Who] ?? who)) {
  const reader = await readEvents(where, headers);
  open.push(reader);
  await expect.poll(() => reader.events.length).toBeGreaterThan(0);
  return reader;
}
const of = ({ events }: EventReader, id: string) => events.filter(({ data }) => data.id === id).map(({ data }) => data);
const last = (reader: EventReader, id: string) => of(reader, id).at(-1);

describe('the stream of events (CO-20)', () => {
  it('begins with resync, then tells each change of a request that the caller may see, to each as it concerns them', async () => {
    const [alice, bob, eve] = await Promise.all([follow('alice'), follow('bob'), follow('eve')]);
    expect([alice.status, alice.headers['content-type'], alice.headers['cache-control']]).toEqual([
      200,
      'text/event-stream',
      'no-cache',
    ]);
    expect(alice.events).toEqual([{ id: '1', event: 'resync', data: {} }]);
    const id = await calls.created(tokens.alice);
    const pending = { id, status: 'pending', version: 1, database: 'shop', environment: 'production', requester: 'alice' };
    await expect.poll(() => of(bob, id)).toEqual([{ ...pending, pending_for_me: true }]);
    await expect.poll(() => of(alice, id)).toEqual([{ ...pending, pending_for_me: false }]);
    expect(bob.events.at(-1)).toMatchObject({ id: '2', event: 'request' });
    await calls.act(tokens.bob, id, 'approve');
    await expect.poll(() => last(alice, id)).toMatchObject({ status: 'approved', version: 2, pending_for_me: false });
    await expect.poll(() => last(bob, id)).toMatchObject({ status: 'approved', pending_for_me: false });
    expect(eve.text()).not.toContain(id);
  });

  it('comes on every server, and by a session too', async () => {
    const cookie = await signedIn(api, tokens.bob);
    const [here, there] = [await follow('bob'), await follow('bob', other)];
    const bySession = await follow('bob', other, { cookie } as never);
    const id = await calls.created(tokens.alice);
    await expect.poll(() => last(here, id)?.pending_for_me).toBe(true);
    await expect.poll(() => last(there, id)?.pending_for_me).toBe(true);
    await expect.poll(() => last(bySession, id)?.pending_for_me).toBe(true);
  });

  it('tells what nobody told of: its sender died before it told (HT-102)', async () => {
    const bob = await follow('bob');
    const id = await calls.created(tokens.alice);
    await expect.poll(() => last(bob, id)?.version).toBe(1);
    await calls.sql(`update requests set version = 7, updated_at = clock_timestamp() where id = $1`, [id]);
    await expect.poll(() => last(bob, id)?.version, { timeout: 20_000 }).toBe(7);
    expect(of(bob, id)).toHaveLength(2);
  });

  it('tells an approver to look again, and nothing else, when a request that waited for them does so no longer', async () => {
    const bea = await follow('bea');
    const id = await calls.created(tokens.alice);
    await expect.poll(() => last(bea, id)?.pending_for_me).toBe(true);
    await calls.act(tokens.bob, id, 'approve');
    await expect.poll(() => bea.events.map(({ event }) => event)).toEqual(['resync', 'request', 'resync']);
    await calls.act(tokens.alice, id, 'cancel');
    const next = await calls.created(tokens.alice);
    await expect.poll(() => last(bea, next)?.status).toBe('pending');
    expect(of(bea, id)).toHaveLength(1);
    expect(bea.events.filter(({ event }) => event === 'resync')).toHaveLength(2);
  });

  it('ends with the token, the session and the user, at once, also on another server', async () => {
    const made = await api.call('POST', '/api/tokens', { token: tokens.bob, body: { subject_id: 'bob', subject_type: 'user' } });
    const byToken = await follow(made.body.token, other);
    const cookie = await signedIn(api, made.body.token);
    const bySession = await follow('', other, { cookie } as never);
    await api.call('DELETE', `/api/tokens/${made.body.id}`, { token: tokens.bob });
    await Promise.all([byToken.ended, bySession.ended]);
    const token = await api.createUser('sven', { roles: ['requester'] });
    const sven = await follow(token, other);
    await api.call('POST', '/api/users/sven/suspend', { token: api.tokens.admin });
    await sven.ended;
    expect((await readEvents(api, bearer(token))).status).toBe(401);
  });

  it('ends when the token expires', async () => {
    const token = await api.createUser('expi', { roles: ['requester'] });
    await calls.sql(`update tokens set expires_at = clock_timestamp() + interval '5 seconds' where subject_id = 'expi'`);
    await (await follow(token)).ended;
  });

  it('goes by the roles and groups of now: a grant shows more, a loss nothing any more', async () => {
    const token = await api.createUser('mona', { roles: ['requester', 'approver'] });
    const [mona, bob] = [await follow(token), await follow('bob')];
    const id = await calls.created(tokens.alice);
    await expect.poll(() => last(bob, id)?.status).toBe('pending');
    await api.call('PATCH', '/api/users/mona', { token: api.tokens.admin, body: { add_groups: ['dba-team'] } });
    await expect.poll(() => mona.events.map(({ event }) => event)).toEqual(['resync', 'resync']);
    const seen = await calls.created(tokens.alice);
    await expect.poll(() => last(mona, seen)?.status).toBe('pending');
    await api.call('PATCH', '/api/users/mona', { token: api.tokens.admin, body: { rm_groups: ['dba-team'] } });
    await expect.poll(() => mona.events.at(-1)?.event).toBe('resync');
    const hidden = await calls.created(tokens.alice);
    const own = await calls.created(token);
    await expect.poll(() => last(mona, own)?.status).toBe('pending');
    for (const secret of [id, hidden]) expect(mona.text()).not.toContain(secret);
  });

  it('never tells of a request that lists do not show, nor leaves one out, and says of each what they say (RQ-11, RQ-36)', async () => {
    const people = ['alice', 'bob', 'carol', 'eve', 'nina'] as const;
    const readers = await Promise.all(people.map((who) => follow(who)));
    const ids = await Promise.all([
      calls.created(tokens.alice),
      calls.created(tokens.alice, { share_with: ['carol'] }),
      calls.created(tokens.carol, { environment: 'staging' }),
      calls.created(tokens.carol),
    ]);
    await calls.act(tokens.bob, ids[0]!, 'reject');
    await calls.act(tokens.alice, ids[1]!, 'cancel');
    const versions = await calls.sql<{ id: string; version: string }>(
      'select id, version::text from requests where id = any($1)',
      [ids],
    );
    for (const [index, who] of people.entries()) {
      const reader = readers[index]!;
      const shown = async (query: string): Promise<string[]> =>
        (await calls.list(tokens[who], query)).body.requests.map(({ id }: { id: string }) => id);
      const [seen, waiting] = [await shown('?limit=100'), await shown('?limit=100&pending_for_me=true')];
      for (const { id, version } of versions) {
        if (!seen.includes(id)) {
          // What it was while the caller could see it may have been told.
          expect([who, String(last(reader, id)?.version)]).not.toEqual([who, version]);
          continue;
        }
        // After a resync the caller asks for everything, so nothing that was on the way is told any more.
        const isAgain = () => reader.events.filter(({ event }) => event === 'resync').length > 1;
        await expect.poll(() => isAgain() || String(last(reader, id)?.version) === version).toBe(true);
        if (String(last(reader, id)?.version) !== version) continue;
        expect([who, last(reader, id).pending_for_me]).toEqual([who, waiting.includes(id)]);
      }
    }
    for (const reader of readers.slice(-2)) for (const id of ids) expect(reader.text()).not.toContain(id);
  });

  it('is limited: one more is 503 and says when to come again, until one has ended', async () => {
    const small = await api.another({ toml: `${toml}[console]\nmax_streams = 2\n` });
    const first = await follow('alice', small);
    await follow('bob', small);
    const refused = await small.call('GET', '/api/events', { token: tokens.alice });
    expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).toEqual([503, 'service.unavailable', '1']);
    const gauge = async () =>
      (await small.services.metrics.longPolls.get()).values.find(({ labels }) => labels.kind === 'events')?.value;
    expect(await gauge()).toBe(2);
    first.close();
    await expect.poll(gauge).toBe(1);
    await follow('alice', small);
    await small.close();
  });

  it('leaves room for others: one user has a tenth of the streams at most, or ten if that is more', async () => {
    const small = await api.another({ toml: `${toml}[console]\nmax_streams = 12\n` });
    const own = await Promise.all(Array.from({ length: 10 }, () => follow('alice', small)));
    const cookie = await signedIn(small, tokens.alice);
    for (const headers of [bearer(tokens.alice), { cookie }]) {
      const refused = await small.call('GET', '/api/events', { headers });
      expect([refused.status, refused.body.code, refused.body.hint]).toEqual([503, 'service.unavailable', 'close some of yours']);
    }
    await follow('bob', small);
    own[0]?.close();
    await expect.poll(() => small.services.eventStreams.openOf('alice')).toBe(9);
    await follow('alice', small);
    await small.close();
  });

  it('ends on drain and says when to come again, and none opens any more (OP-60)', async () => {
    const draining = await api.another({ drainSecs: 3 });
    const reader = await follow('alice', draining);
    draining.drain();
    await reader.ended;
    expect(Number(/retry: (\d+)\n\n$/.exec(reader.text())?.[1])).toBeGreaterThanOrEqual(1000);
    const refused = await draining.call('GET', '/api/events', { token: tokens.alice });
    expect([refused.status, refused.body.code]).toEqual([503, 'service.draining']);
    await draining.close();
  });

  it('says that it lives, and looks at its credential then, in case that its end was not told', async () => {
    const quick = await api.another({ times: { commentMs: 50 } });
    const token = await api.createUser('quiet', { roles: ['requester'] });
    const reader = await follow(token, quick);
    await expect.poll(() => reader.text().endsWith('\n\n:\n\nevent: alive\ndata: {}\n\n')).toBe(true);
    await calls.sql(`update tokens set revoked_at = clock_timestamp() where subject_id = 'quiet'`);
    await reader.ended;
    await quick.close();
  });

  it('takes the token of a user only', async () => {
    expect((await api.call('GET', '/api/events')).status).toBe(401);
    expect((await api.call('GET', '/api/events', { token: api.tokens.agent })).status).toBe(403);
  });
});
