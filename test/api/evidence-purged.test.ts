import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { insertAuditEvents } from '../../db/audit.js';
import { type AuditDraft, systemActor } from '../../domain/audit/draft.js';
import { purgeAuditEvents } from '../../worker/purge-audit-events.js';
import { shopToml, startTestApi, type TestApi } from '../support/api.js';
import { sealAll, tamper } from '../support/audit-api.js';
import { type AgentCalls, agentCalls } from './agent-calls.js';

let api: TestApi;
let calls: AgentCalls;
// The second test breaks the chain for good.
beforeEach(async () => {
  api = await startTestApi({ toml: shopToml });
  calls = await agentCalls(api);
});
afterEach(() => api?.close());

const ask = (id: string) => api.call('GET', `/api/requests/${id}/evidence`, { token: api.tokens.admin });
const other: AuditDraft = {
  ...{ type: 'audit.exported', outcome: 'info', actor: systemActor, resourceType: 'audit', resourceId: null },
  ...{ reason: null, metadata: {} },
};

/** A checkpoint follows a hundred events, and what is before it is purged. */
async function purgeAll() {
  const { database, auditKeys } = api.services;
  await database.transaction((tx) =>
    insertAuditEvents(
      tx,
      Array.from({ length: 120 }, () => other),
    ),
  );
  await sealAll(api);
  expect(await database.transaction((tx) => purgeAuditEvents(tx, auditKeys, 0))).toMatchObject({ kind: 'done' });
  await sealAll(api);
}

describe('the evidence of a request whose events were purged (AU-84)', () => {
  it('is refused with the reason, whether all of them are gone or the first ones', async () => {
    const [gone, some] = [await calls.created(calls.requester), await calls.created(calls.requester)];
    await purgeAll();
    await calls.act(calls.requester, some, 'cancel', {});
    await sealAll(api);
    for (const id of [gone, some])
      expect(await ask(id)).toMatchObject({
        status: 409,
        body: { code: 'request.conflict', error: 'audit events of this request were purged' },
      });
    expect(api.logged.filter((line) => line.includes('does not hold'))).toEqual([]);
  });

  it('but events that are missing without a purge are told as what they are', async () => {
    const id = await calls.created(calls.requester);
    await sealAll(api);
    await tamper(api, `delete from audit_events where request_id = '${id}'`);
    // Whoever has the rights of the gateway can record a purge.
    await api.services.database.query(
      `insert into audit_purges (last_purged_seq, last_purged_hash, purged_before, retained_count, key_id, signature)
       values (1, 'x', '2999-01-01T00:00:00.000000Z', 0, 'k', 's')`,
    );
    expect((await ask(id)).body.error).toContain('its evidence does not hold');
  });
});
