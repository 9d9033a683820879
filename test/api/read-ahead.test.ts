import { randomUUID } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { readAhead } from '../../api/http/ahead.js';
import type { TestApi } from '../support/api.js';
import { ownerAndApprover, startCalls } from './calls-api.js';
import type { GatewayCalls } from './gateway-calls.js';

let api: TestApi;
let calls: GatewayCalls;
let tokens: Record<'owner' | 'approver' | 'admin', string>;
beforeAll(async () => {
  ({ api, calls, tokens } = await startCalls(ownerAndApprover, ['shop/production']));
});
afterAll(() => api?.close());

/** An approval whose body comes when `finish` is called. */
function slowApproval(id: string): { finish: () => Promise<number> } {
  const headers = {
    authorization: `Bearer ${tokens.approver}`,
    'content-type': 'application/json',
    'content-length': '2',
  };
  const request = httpRequest(`${api.url}/api/requests/${id}/approve`, { method: 'POST', headers });
  const status = new Promise<number>((resolve, reject) => {
    request.on('error', reject);
    request.on('response', (response) => resolve(response.resume().statusCode ?? 0));
  });
  request.flushHeaders();
  return {
    finish: () => {
      request.end('{}');
      return status;
    },
  };
}

describe('what a handler reads first travels with the credential', () => {
  it('so that a request is shown without another round trip', async () => {
    const id = await calls.created(tokens.owner);
    const { database } = api.services;
    const alone = vi.spyOn(database, 'query');
    const together = vi.spyOn(database, 'together');
    onTestFinished(() => void vi.restoreAllMocks());
    let began: number;
    do {
      vi.clearAllMocks();
      began = performance.now();
      expect((await calls.show(tokens.owner, id)).body).toMatchObject({ id, status: 'pending' });
      // What is older when the handler takes it is read again.
    } while (performance.now() - began > 100);
    expect(together).toHaveBeenCalledTimes(1);
    expect(alone.mock.calls.filter(([text]) => text.includes('from requests r'))).toEqual([]);
  });

  it('once the credential was accepted: for a stranger, or after its end, nothing but the credential is read', async () => {
    const id = await calls.created(tokens.owner);
    const fresh = await api.createUser('fresh', { roles: ['requester'] });
    const together = vi.spyOn(api.services.database, 'together');
    onTestFinished(() => void vi.restoreAllMocks());
    const sent = async (token: string) => {
      together.mockClear();
      const { status } = await calls.show(token, id);
      return [status, together.mock.calls.length];
    };
    const stranger = `svc_${'1'.repeat(32)}`;
    expect([await sent(stranger), await sent(stranger)]).toEqual([
      [401, 0],
      [401, 0],
    ]);
    expect([await sent(fresh), await sent(fresh)]).toEqual([
      [403, 0],
      [403, 1],
    ]);
    await api.call('POST', '/api/users/fresh/suspend', { token: tokens.admin });
    expect([await sent(fresh), await sent(fresh)]).toEqual([
      [401, 1],
      [401, 0],
    ]);
  });

  it('and tells strangers nothing: a known and an unknown id give the same refusal', async () => {
    const id = await calls.created(tokens.owner);
    const stranger = `svc_${'0'.repeat(32)}`;
    const [known, unknown] = await Promise.all([calls.show(stranger, id), calls.show(stranger, randomUUID())]);
    expect([known.status, known.text]).toEqual([401, unknown.text]);
    const malformed = await calls.show(stranger, 'x');
    expect([malformed.status, malformed.text]).toEqual([401, unknown.text]);
  });

  it('and is 503 when the connection breaks between the two, which nobody gets again (HT-112)', async () => {
    const ended = readAhead((db) => db.query('select pg_terminate_backend(pg_backend_pid())')).of(
      randomUUID(),
      api.services.notifications,
    );
    const { database } = api.services;
    expect(
      await database.together(async (db) => {
        const [credential] = await Promise.all([db.query('select 1 as found'), ended.send(db)]);
        return credential;
      }),
    ).toEqual([{ found: 1 }]);
    // The pool hands out first what it got back last.
    expect(await database.query('select 2 as found')).toEqual([{ found: 2 }]);
    await expect(ended.take()).rejects.toMatchObject({ code: 'service.unavailable' });
  });

  it('and is read again if the body comes late: who is overtaken meanwhile is refused', async () => {
    const id = await calls.created(tokens.owner);
    const approval = slowApproval(id);
    await sleep(150);
    expect((await calls.act(tokens.approver, id, 'reject')).status).toBe(200);
    expect(await approval.finish()).toBe(409);
    expect((await calls.show(tokens.owner, id)).body.status).toBe('rejected');
  });

  it('and an approval whose body comes late has the instant at which it came', async () => {
    const id = await calls.created(tokens.owner);
    const approval = slowApproval(id);
    await sleep(1100);
    const [{ now }] = (await calls.sql<{ now: number }>(
      'select (extract(epoch from clock_timestamp()) * 1000)::bigint as now',
    )) as [{ now: number }];
    expect(await approval.finish()).toBe(200);
    const { body } = await calls.show(tokens.owner, id);
    expect(Date.parse(body.approved_at)).toBeGreaterThanOrEqual(Number(now));
  });
});
