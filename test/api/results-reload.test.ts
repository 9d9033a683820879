import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TestApi } from '../support/api.js';
import { startCalls } from './calls-api.js';
import { callsToml } from './calls-toml.js';
import { type GatewayCalls, gatewayCalls } from './gateway-calls.js';
import { untilWaiting } from './until-waiting.js';

const openTo = (group: string) => `${callsToml}[[result_policies]]\nenvironment = "staging"\naccess = ["group:${group}"]\n\n`;

let api: TestApi;
let calls: GatewayCalls;
let tokens: Record<'owner' | 'reader' | 'lead', string>;
beforeAll(async () => {
  const people = {
    owner: { roles: ['requester'] },
    reader: { roles: ['requester'], groups: ['readers'] },
    lead: { roles: ['requester'], groups: ['leads'] },
  };
  ({ api, calls, tokens } = await startCalls(people, ['shop/staging'], { toml: openTo('readers') }));
});
afterAll(() => api?.close());

it('a reader who waits gets a result only if the policy opens it when it comes, whatever it said before (RS-59, HT-103)', async () => {
  const id = await calls.created(tokens.owner, { environment: 'staging' });
  const { executionId } = await calls.claimed(id);
  expect((await calls.stream(tokens.lead, id)).status).toBe(403);
  const waiting = await untilWaiting(api, () => gatewayCalls(api).stream(tokens.reader, id));
  const other = await api.another({ toml: openTo('leads') });
  await expect.poll(() => api.services.generation().number, { timeout: 15_000 }).toBe(2);
  await calls.submit(executionId, { success: true, result_data: '{"rows":[{"n":1}]}' });
  const late = await waiting.answer;
  expect([late.status, late.body.code]).toEqual([403, 'auth.forbidden']);
  expect((await calls.stream(tokens.lead, id)).status).toBe(200);
  await other.close();
});
