import { describe, expect, it } from 'vitest';
import { createKeySet } from '../../../runtime/oidc/key-set.js';

const issuer = 'https://id.example.net';
const minute = 60_000;

/** A key set with a clock of its own, over a provider that answers as told. */
function made(jwksUri: string | null = `${issuer}/keys`) {
  const state = { now: 0, away: false, kids: ['a'], fetched: [] as string[], failures: 0 };
  const keySet = createKeySet(
    { issuer, jwksUri },
    {
      now: () => state.now,
      onFailure: () => state.failures++,
      async fetchJson(url) {
        state.fetched.push(url);
        await Promise.resolve();
        if (state.away) throw new Error('away');
        if (url.endsWith('openid-configuration')) return { issuer, jwks_uri: `${issuer}/keys` };
        return { keys: state.kids.map((kid) => ({ kid })) };
      },
    },
  );
  const kids = async (keys: Promise<readonly { kid?: unknown }[]>) => (await keys).map(({ kid }) => kid);
  return { state, keys: () => kids(keySet.keys()), keysAnew: () => kids(keySet.keysAnew()) };
}

describe('the keys of a provider (IM-32)', () => {
  it('are kept for an hour, then fetched once while calls go on with the old ones', async () => {
    const { state, keys } = made();
    expect(await Promise.all(Array.from({ length: 1000 }, keys))).toHaveLength(1000);
    state.now = 60 * minute - 1;
    state.kids = ['b'];
    expect([await keys(), state.fetched.length]).toEqual([['a'], 1]);
    state.now = 60 * minute;
    expect(await Promise.all([keys(), keys()])).toEqual([['a'], ['a']]);
    await new Promise(setImmediate);
    expect([await keys(), state.fetched.length]).toEqual([['b'], 2]);
  });

  it('that were withdrawn while nobody came do not pass for the first who comes', async () => {
    const { state, keys } = made();
    await keys();
    state.now = 10 * 60 * minute;
    state.kids = ['b'];
    expect(await Promise.all([keys(), keys()])).toEqual([['b'], ['b']]);
    expect(state.fetched.length).toBe(2);
    state.now += 10 * 60 * minute;
    state.away = true;
    expect(await keys()).toEqual(['b']);
  });

  it('are not waited for again while the provider is away', async () => {
    const { state, keys } = made();
    await keys();
    state.away = true;
    state.now = 120 * minute;
    expect(await keys()).toEqual(['a']);
    state.now += minute;
    state.away = false;
    state.kids = ['b'];
    expect(await Promise.all([keys(), keys()])).toEqual([['a'], ['a']]);
    await new Promise(setImmediate);
    expect([await keys(), state.failures]).toEqual([['b'], 1]);
  });

  it('are served stale while the provider is away, and asked for once a minute', async () => {
    const { state, keys } = made();
    await keys();
    state.away = true;
    for (let at = 60; at < 70; at += 0.25) {
      state.now = at * minute;
      expect(await keys()).toEqual(['a']);
      await new Promise(setImmediate);
    }
    expect([state.fetched.length, state.failures]).toEqual([11, 10]);
    state.away = false;
    state.kids = ['c'];
    state.now = 80 * minute;
    await keys();
    await new Promise(setImmediate);
    expect(await keys()).toEqual(['c']);
  });

  it('are fetched again for an unknown kid at most once a minute, by all calls together', async () => {
    const { state, keys, keysAnew } = made();
    await keys();
    state.kids = ['a', 'b'];
    expect([await keysAnew(), state.fetched.length]).toEqual([['a'], 1]);
    state.now = minute;
    const answers = await Promise.all(Array.from({ length: 100 }, keysAnew));
    expect([answers[99], state.fetched.length]).toEqual([['a', 'b'], 2]);
    state.now += minute - 1;
    await keysAnew();
    expect(state.fetched.length).toBe(2);
    state.away = true;
    state.now += 1;
    expect(await keysAnew()).toEqual(['a', 'b']);
  });

  it('that were never fetched fail every call, but not with a fetch each', async () => {
    const { state, keys } = made();
    state.away = true;
    await expect(Promise.all([keys(), keys()])).rejects.toThrow('away');
    await expect(keys()).rejects.toThrow('away');
    expect(state.fetched.length).toBe(1);
    state.now = 2000;
    state.away = false;
    expect(await keys()).toEqual(['a']);
  });

  it('come from where the discovery document says, and only behind https', async () => {
    const { state, keys } = made(null);
    await keys();
    expect(state.fetched).toEqual([`${issuer}/.well-known/openid-configuration`, `${issuer}/keys`]);
    for (const document of [
      { issuer: 'https://other', jwks_uri: `${issuer}/k` },
      { issuer },
      { issuer, jwks_uri: 'http://x/k' },
      { issuer, jwks_uri: 'file:///k' },
      null,
    ]) {
      const keySet = createKeySet({ issuer, jwksUri: null }, { fetchJson: async () => document, now: () => 0 });
      await expect(keySet.keys()).rejects.toThrow();
    }
    const none = createKeySet({ issuer, jwksUri: issuer }, { fetchJson: async () => ({ keys: 1 }), now: () => 0 });
    await expect(none.keys()).rejects.toThrow('no keys');
  });
});
