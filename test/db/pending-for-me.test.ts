import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Database } from '../../db/client.js';
import { openDatabase } from '../../db/open-database.js';
import { listRequests } from '../../db/request-list.js';
import { listStates } from '../../db/request-state.js';
import { judge } from '../../domain/request/judge.js';
import { actorOf, builtinRole, role, user } from '../support/callers.js';
import { createTestDatabase, type TestDatabase, testMacs } from '../support/postgres.js';
import { storeRequest } from '../support/requests.js';
import { vouch } from '../support/vouch.js';

const people = ['alice', 'bob', 'carol', 'dave'];
const selectors = ['group:dba-team', 'group:leads', 'role:dba', 'role:limited', 'user:bob'];
let own: TestDatabase;
let database: Database;
let ids: string[];
beforeAll(async () => {
  own = await createTestDatabase();
  const limits = { connectTimeoutMs: 10_000, statementTimeoutMs: 30_000, callTimeoutMs: 30_000 };
  database = openDatabase({ url: own.url, poolMax: 4, applicationName: 'test', macs: testMacs, ...limits });
  const wanted = people
    .slice(0, 3)
    .flatMap((requester) =>
      [[0], [1], [2], [3], [4], [0, 1], [0, 2, 4], [1, 3]].flatMap((indexes) =>
        [false, true].map((self) => ({ requester, asked: indexes.map((index) => selectors[index]!), self })),
      ),
    );
  ids = await Promise.all(wanted.map(() => storeRequest(database)));
  for (const [index, { requester, asked, self }] of wanted.entries()) {
    const approvers = asked.map((selector) => ({ selector, min: 1 }));
    const over = { steps: [{ mode: 'any', approvers }], allowSelfApprove: self };
    await database.query(
      `update requests set requester = $2, step_selectors = $3, open_selectors = $3, workflow = workflow || $4::jsonb where id = $1`,
      [ids[index], requester, asked, JSON.stringify(over)],
    );
  }
});
afterAll(async () => {
  await database?.close();
  await own?.drop();
});

const origins = fc.oneof({ weight: 5, arbitrary: fc.subarray(people) }, { weight: 1, arbitrary: fc.constant(['*']) });
const ways = fc.array(origins, { maxLength: 2 });
const callers = fc
  .record({
    groups: fc.subarray(['dba-team', 'leads', 'others']),
    roles: fc.subarray([
      builtinRole('dba'),
      role('limited', ['request.view'], { databases: ['shop'] }),
      builtinRole('requester'),
    ]),
    account: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: origins }),
    credential: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: origins }),
    given: fc.tuple(origins, origins, ways, ways),
  })
  .map(({ groups, roles, account, credential, given: [dbaTeam, leads, dba, limited] }) =>
    user('bob', {
      groups,
      roles,
      origins: {
        account,
        credential,
        groups: new Map([
          ['dba-team', dbaTeam],
          ['leads', leads],
        ]),
        roles: new Map([
          ['dba', dba],
          ['limited', limited],
        ]),
      },
    }),
  );

it('pending_for_me lists exactly what the approve call takes, whoever granted what (RQ-36, HD-70)', async () => {
  await vouch(database);
  const states = await database.transaction((tx) => listStates(tx, ids));
  let mixed = 0;
  await fc.assert(
    fc.asyncProperty(callers, async (caller) => {
      const takes = states.filter(({ request, now }) =>
        request.policy!.steps[0]!.approvers.some(({ selector }) => {
          const how = { kind: 'approve', caller, actor: actorOf(caller), selector, comment: null } as const;
          return judge(request, { ...how, digestIntact: true, foundDigest: '' }, now).refusal === null;
        }),
      );
      const listed = await listRequests(database, caller, {}, { limit: 100, offset: 0, pendingForMe: true });
      expect(listed.rows.map(({ id }) => id).sort()).toEqual(takes.map(({ request }) => request.id).sort());
      if (takes.length > 0 && takes.length < states.length) mixed += 1;
    }),
    { numRuns: 200 },
  );
  expect(mixed).toBeGreaterThan(20);
});
