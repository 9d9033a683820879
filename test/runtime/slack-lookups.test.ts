import { expect, it } from 'vitest';
import type { SlackAnswer } from '../../runtime/slack-client.js';
import { createSlackLookups } from '../../runtime/slack-lookups.js';

const lookUpWith = (...answers: SlackAnswer[]) => createSlackLookups({ call: async () => answers.shift()! });
const ok = (body: Record<string, unknown>): SlackAnswer => ({ ok: true, body: { ok: true, ...body } });

it.each<[string, unknown]>([
  ['nothing', undefined],
  ['null', null],
  ['a text', 'U0BOB'],
  ['one without an id', {}],
  ['one with a number', { id: 7 }],
])('an answer with %s as its user is a miss, which holds up no card (SL-54)', async (_, user) => {
  expect(await lookUpWith(ok({ user }))('bob@example.net')).toBeNull();
});

it('a hit is remembered', async () => {
  const lookUp = lookUpWith(ok({ user: { id: 'U0BOB' } }), ok({ user: { id: 'U0OTHER' } }));
  expect([await lookUp('bob@example.net'), await lookUp('bob@example.net')]).toEqual(['U0BOB', 'U0BOB']);
});
