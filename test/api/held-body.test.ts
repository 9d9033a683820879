import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEventStreams } from '../../api/events/streams.js';
import { createMetrics } from '../../runtime/metrics.js';
import { startTestApi, type TestApi } from '../support/api.js';
import { type GatewayCalls, gatewayCalls, pollBody } from './gateway-calls.js';

let api: TestApi;
let calls: GatewayCalls;
beforeAll(async () => {
  api = await startTestApi();
  calls = gatewayCalls(api);
});
afterAll(() => api?.close());

/** Sends the headers of a call, which the server then admits. `finish` sends the body and answers the status. */
async function held(token: string, method: string, path: string, value: object): Promise<{ finish(): Promise<number> }> {
  const body = JSON.stringify(value);
  const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
  await once(socket, 'connect');
  const headers = ['host: localhost', `authorization: Bearer ${token}`, 'content-type: application/json', 'connection: close'];
  socket.write([`${method} ${path} HTTP/1.1`, ...headers, `content-length: ${body.length}`, '', ''].join('\r\n'));
  // The server looks again at a credential that it checked more than half a second ago.
  await sleep(1000);
  return {
    finish: async () => {
      socket.write(body);
      const [answer] = await once(socket, 'data');
      socket.destroy();
      return Number(String(answer).split(' ')[1]);
    },
  };
}

const asAdmin = (method: string, path: string, body?: object) => api.call(method, path, { token: api.tokens.admin, body });

describe('a call whose body comes late is made with the rights of then (IM-72, IM-I4)', () => {
  it('an approval of a user who was suspended meanwhile counts for nothing', async () => {
    const { ann, ben } = await api.createUsers({
      ann: { roles: ['requester'] },
      ben: { roles: ['approver'], groups: ['dba-team'] },
    });
    const id = await calls.created(ann);
    const call = await held(ben, 'POST', `/api/requests/${id}/approve`, {});
    expect((await asAdmin('POST', '/api/users/ben/suspend')).status).toBe(200);
    expect(await call.finish()).toBe(401);
    expect((await calls.show(ann, id)).body.status).toBe('pending');
    expect(await calls.sql('select 1 from decisions where request_id = $1', [id])).toEqual([]);
  });

  it('a token that was revoked meanwhile makes no other', async () => {
    const { body } = await asAdmin('POST', '/api/tokens', {
      subject_id: 'admin',
      subject_type: 'user',
      scope_ceiling: { roles: ['admin'] },
    });
    const call = await held(body.token, 'POST', '/api/tokens', {
      subject_id: 'admin',
      subject_type: 'user',
      scope_ceiling: null,
    });
    expect((await asAdmin('DELETE', `/api/tokens/${body.id}`)).status).toBeLessThan(300);
    expect(await call.finish()).toBe(401);
  });

  it('a role that was taken away meanwhile gives nothing', async () => {
    const { chief } = await api.createUsers({ chief: { roles: ['admin'] } });
    await api.createUser('friend');
    const call = await held(chief, 'PATCH', '/api/users/friend', { add_roles: ['admin'] });
    expect((await asAdmin('PATCH', '/api/users/chief', { roles: ['requester'] })).status).toBe(200);
    expect(await call.finish()).toBe(403);
  });

  it('an agent whose token was revoked meanwhile claims nothing', async () => {
    const { body } = await asAdmin('POST', '/api/tokens', { subject_id: 'agent-9', subject_type: 'agent', scope_ceiling: null });
    const call = await held(body.token, 'POST', '/api/agent/poll', { ...pollBody(['shop/production']), claim: true });
    await asAdmin('DELETE', `/api/tokens/${body.id}`);
    expect(await call.finish()).toBe(401);
  });

  it('others are answered as always', async () => {
    const carl = await api.createUser('carl', { roles: ['requester'] });
    const call = await held(carl, 'POST', '/api/requests', { database: 'shop', environment: 'production', detail: 'select 1' });
    expect(await call.finish()).toBe(201);
  });
});

it('a client that leaves while its credential is checked holds no event stream (CO-20)', () => {
  const streams = createEventStreams(createMetrics('test'));
  streams.take('carl', AbortSignal.abort());
  expect([streams.open, streams.openOf('carl')]).toEqual([0, 0]);
});
