import { describe, expect, it } from 'vitest';
import { bareNotice, type Notice } from '../../../domain/notifications/notice.js';
import { genericBody } from '../../../domain/notifications/payload.js';

const notice: Notice = {
  event: 'step.approved',
  actor: 'otto',
  request: {
    id: '8c1f0a34-1111-4222-8333-944445555666',
    database: 'ledger',
    environment: 'production',
    operation: 'execute_dml',
    requester: 'mira',
    status: 'pending',
    step: { number: 1, total: 2 },
    approvers: ['otto'],
    next: ['group:dbas'],
  },
  detail: null,
  matchedSelector: 'group:payments-leads',
  reason: 'never sent',
  error: { class: 'never sent', line: 'never sent' },
};

describe('a generic body', () => {
  it('has exactly the bytes of the rule (NT-20)', () => {
    const body = genericBody(notice);
    expect(body).toBe(
      '{"event":"step.approved","request_id":"8c1f0a34-1111-4222-8333-944445555666","database":"ledger","environment":"production","operation":"execute_dml","actor":"otto","requester":"mira","detail":null,"matched_selector":"group:payments-leads"}',
    );
    expect(Buffer.byteLength(body)).toBe(240);
  });

  it('has all keys, with null, where an event has no request (NT-20)', () => {
    const about = JSON.stringify({ grace_remaining_days: 3, expires_at: '2031-01-01T00:00:00Z' });
    expect(genericBody(bareNotice('license_grace_warning', 'system', about))).toBe(
      `{"event":"license_grace_warning","request_id":null,"database":null,"environment":null,"operation":null,"actor":"system","requester":null,"detail":${JSON.stringify(about)},"matched_selector":null}`,
    );
  });

  it('is well-formed UTF-8 without control characters, whatever the texts hold (NT-20)', () => {
    const detail = `"\\\u0000\u0001\n\u2028\u202e</script>${String.fromCharCode(0xd800)}é😀`;
    const body = genericBody({ ...notice, detail });
    expect(body).not.toMatch(/\p{Cc}/u);
    expect(new TextDecoder('utf-8', { fatal: true }).decode(new TextEncoder().encode(body))).toBe(body);
    expect(JSON.parse(body)).toMatchObject({ detail, matched_selector: 'group:payments-leads' });
  });
});
