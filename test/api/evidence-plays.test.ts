import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { evidenceTools } from '../../crypto/evidence-tools.js';
import { verifyEvidence } from '../../domain/evidence/verify.js';
import { startTestApi, type TestApi } from '../support/api.js';
import { sealAll } from '../support/audit-api.js';
import { share } from '../support/share.js';
import { databaseToml, dbaTeamToml, groupToml, passesToml, workflowToml } from '../support/toml.js';
import { type AgentCalls, agentCalls, pollBody, scope } from './agent-calls.js';

const toml = [
  databaseToml('shop', ['staging', 'production']),
  dbaTeamToml,
  groupToml('leads', ['approver']),
  passesToml('staging'),
  workflowToml({
    environment: 'production',
    steps: [[{ group: 'dba-team' }, { group: 'leads' }], { any: [{ user: 'lena' }, { group: 'dba-team', min: 2 }] }],
  }),
  '[[execution_policies]]\nmax_executions = 9\nretry_on_failure = true\n',
].join('');

let api: TestApi;
let calls: AgentCalls;
let people: Record<'ada' | 'ben' | 'lena' | 'nina', string>;
let agent: Awaited<ReturnType<AgentCalls['known']>>;
beforeAll(async () => {
  api = await startTestApi({ toml, times: { cancelWaitMs: 1 } });
  calls = await agentCalls(api);
  const dba = { groups: ['dba-team'] };
  people = await api.createUsers({ ada: dba, ben: dba, lena: { groups: ['leads'] }, nina: { groups: ['leads'] } });
  agent = await calls.known(pollBody({ limit: 0 }, { scopes: [scope('shop', 'staging'), scope('shop', 'production')] }));
});
afterAll(() => api?.close());

interface Play {
  id: string;
  /** Executions, newest last. */
  runs: string[];
}

const result = (outcome: string, over = {}) => ({ success: false, outcome, error: { message: 'boom' }, ...over });
const strangeMarker = { fence: 77, execution_id: 'nobody', step: '', state: 'done' };
const submit = (play: Play, at: number, body: object) => (play.runs[at] === undefined ? null : agent.submit(play.runs[at], body));

/** What may happen to a request. Most of it is refused most of the time, which must not show in its evidence. */
const moves: Record<string, (play: Play) => unknown> = {
  ada: ({ id }) => calls.act(people.ada, id, 'approve', { comment: 'fine' }),
  ben: ({ id }) => calls.act(people.ben, id, 'approve', {}),
  lena: ({ id }) => calls.act(people.lena, id, 'approve', { selector: 'user:lena' }),
  nina: ({ id }) => calls.act(people.nina, id, 'approve', { comment: 'ja 🙂' }),
  reject: ({ id }) => calls.act(people.ada, id, 'reject', { comment: 'no' }),
  cancel: ({ id }) => calls.act(calls.requester, id, 'cancel', { reason: 'enough' }),
  resume: ({ id }) => calls.act(calls.requester, id, 'resume', {}),
  claim: async (play) => {
    const { body } = await agent.claim(play.id);
    if (body?.execution_id !== undefined) play.runs.push(body.execution_id);
  },
  committed: (play) => submit(play, play.runs.length - 1, { success: true, outcome: 'committed', result: { rows_affected: 1 } }),
  rolledBack: (play) => submit(play, play.runs.length - 1, result('rolled_back')),
  cancelled: (play) => submit(play, play.runs.length - 1, result('rolled_back', { cancelled: true })),
  notStarted: (play) => submit(play, play.runs.length - 1, result('not_started')),
  unknown: (play) => submit(play, play.runs.length - 1, result('unknown')),
  stranger: (play) => submit(play, play.runs.length - 1, { success: true, outcome: 'already_applied', applied_fence: 77 }),
  late: (play) => submit(play, 0, result('rolled_back')),
  lateStranger: (play) => submit(play, 0, result('unknown', { marker_mismatches: [strangeMarker] })),
  lateSuccess: (play) => submit(play, 0, { success: true, outcome: 'committed' }),
  lease: ({ id }) => calls.fireClock(id, 'lease'),
  dispatch: ({ id }) => calls.fireClock(id, 'dispatch'),
  pending: ({ id }) => calls.endClock(id, 'pending', true),
  approved: ({ id }) => calls.endClock(id, 'approved', true),
};
const agreed = ['ada', 'nina', 'lena'];
const lost = ['resume', 'claim', 'lease', 'resume', 'claim'];
const starts = [
  [],
  agreed,
  [...agreed, 'resume', 'claim'],
  [...agreed, ...lost],
  ['claim'],
  ['claim', 'cancel'],
  ['claim', 'lease', ...lost.slice(3)],
  ['claim', 'lease', 'resume', 'dispatch', 'lateStranger'],
  ['claim', 'lease', 'resume', 'dispatch', 'approved', 'lateStranger'],
  ['claim', 'lease', 'resume', 'cancel', 'lateSuccess'],
  ['claim', 'lease', 'resume', 'lateSuccess', 'cancel'],
  ['claim', 'lease', 'resume', 'claim', 'lease', 'cancel', 'lateSuccess'],
  ['claim', 'lease', 'resume', 'claim', 'lease', 'lateSuccess', 'cancel'],
  ['claim', 'lease', 'resume', 'claim', 'lateSuccess', 'cancel', 'notStarted'],
];
const usual = ['ada', 'nina', 'lena', 'resume', 'claim', 'committed', 'rolledBack', 'unknown', 'lease', 'claim', 'resume'];

it('whatever happens to a request, its evidence holds and ends in its status (AU-84)', async () => {
  const seen = new Set<string>();
  const play = fc.record({
    passes: fc.boolean(),
    writes: fc.boolean(),
    start: fc.constantFrom(...starts),
    path: fc.array(fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...usual) }, fc.constantFrom(...Object.keys(moves))), {
      maxLength: 8,
    }),
  });
  await fc.assert(
    fc.asyncProperty(play, async ({ passes, writes, start, path }) => {
      const detail = writes ? 'update parts set n = 1 where id = 7' : 'select 1';
      const over = {
        environment: passes ? 'staging' : 'production',
        detail,
        operation: writes ? 'execute_dml' : 'execute_select',
      };
      const played: Play = { id: await calls.created(calls.requester, over), runs: [] };
      for (const move of [...start, ...path]) await moves[move]?.(played);
      await sealAll(api);
      const answer = await api.call('GET', `/api/requests/${played.id}/evidence`, { token: api.tokens.admin });
      expect([answer.status, answer.body?.error]).toEqual([200, undefined]);
      const { fault, evidence } = verifyEvidence(answer.text, { trustedKeys: null, anchor: null }, evidenceTools);
      expect([fault, evidence?.request.status]).toEqual([null, (await calls.show(api.tokens.admin, played.id)).body.status]);
      for (const { event } of evidence?.events ?? []) seen.add(event.event_type);
    }),
    { numRuns: share(40, 80), seed: 7, endOnFailure: true },
  );
  expect(seen.size, [...seen].join(', ')).toBeGreaterThan(share(9, 12));
}, 180_000);
