import { goodClaims, makeKey, oidcToml, startFakeProvider } from '../test/support/oidc.js';
import { type Caller, createCaller, expectStatus } from './caller.js';
import { hundredths, percentiles, timed } from './statistics.js';
import type { BenchOptions, BenchSystem } from './system.js';

const algorithms = ['RS256', 'ES256', 'EdDSA'];

/** `GET /api/me` with an API token and with ID tokens of each kind, in turns: one call at a time, then 8 callers, a second with each kind, `seconds` times. */
export async function authentication(system: BenchSystem, { count = 1000, warmup = 500, seconds = 5 }: BenchOptions) {
  const provider = await startFakeProvider();
  const keys = await Promise.all(algorithms.map((algorithm) => makeKey(algorithm, algorithm)));
  provider.keys(...keys.map(({ jwk }) => jwk));
  // A webhook that subscribes to nothing makes a new generation, which shows that the change of the file is in force.
  const marker = '[[webhooks]]\nid = "bench"\nurl = "https://example.com/"\nevents = ["webhook.test"]\n';
  await system.configure({ head: '', tables: marker + oidcToml(provider.issuer) });
  const callers = new Map<string, Caller>([['token', system.alice]]);
  for (const { jwk, sign } of keys) {
    const exp = Math.floor(Date.now() / 1000) + 3600;
    callers.set(jwk.alg!, createCaller(system.serverUrl, await sign(goodClaims(provider.issuer, { exp }))));
  }
  try {
    const ms = await system.measure(() => oneAtATime(callers, count, warmup));
    const answered = new Map([...callers.keys()].map((name) => [name, 0]));
    for (let second = 0; second < seconds; second += 1)
      for (const [name, caller] of callers) answered.set(name, answered.get(name)! + (await answeredInASecond(caller)));
    const perSecond = [...answered].map(([name, all]) => [name, hundredths(all / seconds)]);
    return { count, seconds, ms, per_second: Object.fromEntries(perSecond) };
  } finally {
    for (const caller of callers.values()) if (caller !== system.alice) caller.close();
    await provider.close();
  }
}

const look = (caller: Caller) => expectStatus(200, caller.call('GET', '/api/me'));

async function oneAtATime(callers: ReadonlyMap<string, Caller>, count: number, warmup: number) {
  const durations = new Map([...callers.keys()].map((name) => [name, [] as number[]]));
  for (let turn = -warmup; turn < count; turn += 1)
    for (const [name, caller] of callers) {
      const took = await timed(() => look(caller));
      if (turn >= 0) durations.get(name)!.push(took);
    }
  return Object.fromEntries([...durations].map(([name, all]) => [name, percentiles(all)]));
}

async function answeredInASecond(caller: Caller): Promise<number> {
  const until = performance.now() + 1000;
  let answered = 0;
  const loop = async () => {
    for (; performance.now() < until; answered += 1) await look(caller);
  };
  await Promise.all(Array.from({ length: 8 }, loop));
  return answered;
}
