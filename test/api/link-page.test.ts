import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.js';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api?.close());

describe('the page that messages link to', () => {
  it('says how to see and decide the request, without a credential', async () => {
    const id = randomUUID();
    const { status, text, headers } = await api.call('GET', `/console/requests/${id}`);
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    for (const command of ['show', 'approve', 'reject']) expect(text).toContain(`svc request ${command} ${id}`);
  });

  it('is the same whether there is such a request or not, runs nothing and cannot be framed', async () => {
    const { text, headers } = await api.call('GET', `/console/requests/${randomUUID()}`, { token: api.tokens.admin });
    expect(text).toContain(`default-src 'none'`);
    expect(text).not.toContain('<script');
    expect(headers.get('content-security-policy')).toBe(`frame-ancestors 'none'`);
  });

  it.each(['%3Cscript%3Ealert(1)%3C%2Fscript%3E', '..%2F..%2Fapi', 'x'.repeat(500), `${randomUUID()}x`])(
    'shows nothing of a text that is no id: %s',
    async (text) => {
      const { status, body } = await api.call('GET', `/console/requests/${text}`);
      expect([status, body]).toMatchObject([404, { code: 'route.not_found' }]);
    },
  );
});
