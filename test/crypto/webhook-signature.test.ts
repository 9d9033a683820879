import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { verifyWebhook, webhookHeaders, webhookKey } from '../../crypto/webhook-signature.js';

const body =
  '{"event":"step.approved","request_id":"8c1f0a34-1111-4222-8333-944445555666","database":"ledger","environment":"production","operation":"execute_dml","actor":"otto","requester":"mira","detail":null,"matched_selector":"group:payments-leads"}';
const whsec = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX';
const attempt = {
  event: 'step.approved',
  deliveryId: 'wd-6f1e2d3c-4b5a-4978-8675-645342312011',
  now: 1_932_265_628_999,
  body,
  secret: 'hook-key-1' as string | null,
};

describe('the headers of an attempt', () => {
  it('are those of the vectors, and no traceparent (NT-30, NT-32, OP-94)', () => {
    expect(webhookHeaders(attempt)).toEqual({
      'content-type': 'application/json',
      'x-svc-event': 'step.approved',
      'webhook-id': attempt.deliveryId,
      'webhook-timestamp': '1932265628',
      'x-svc-signature': 'sha256=c2071b750018db815be305d69c1e1c61f62b7545d63f6f19570ab44d8aaf1dbe',
      'webhook-signature': 'v1,4tqB/hXnTKSB5ZzH15ySTI1hlHbAf8q7q7flubPEizY=',
    });
    expect(webhookHeaders({ ...attempt, body: '{"event":"user.created"}' })['x-svc-signature']).toBe(
      'sha256=ebea877318956610a58b4f8b4827b711d4989bd22e1866ba344a95407d3abca9',
    );
    expect(webhookHeaders({ ...attempt, secret: whsec })).toMatchObject({
      'x-svc-signature': 'sha256=fb0fbdd9b0d2e143316de246e6a58fd8e3fa3fe54eecb070446a38e0445c6de0',
      'webhook-signature': 'v1,ruW8eh121WAGecA9oq2RMbLgsTPL+npym832BImmHDg=',
    });
  });

  it('hold no signature without a secret (NT-30)', () => {
    expect(Object.keys(webhookHeaders({ ...attempt, secret: null }))).toEqual([
      'content-type',
      'x-svc-event',
      'webhook-id',
      'webhook-timestamp',
    ]);
  });

  it('are never signed with a key that anybody could guess from a malformed secret (NT-31)', () => {
    for (const secret of ['', 'whsec_', 'whsec_AAAA', `whsec_${'A'.repeat(100)}`, 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMU RYX']) {
      expect(webhookKey(secret)).toBeNull();
      expect(() => webhookHeaders({ ...attempt, secret })).toThrow(/^the secret of a webhook must be/);
      expect(() => verifyWebhook({ headers: {}, body, secret, now: attempt.now })).toThrow(/^the secret of a webhook must be/);
    }
  });
});

describe('a receiver with the published library', () => {
  const sent = { ...attempt, now: Date.now() };
  const raw = 'a-secret-of-ours, ü';
  const receivers = [
    { secret: whsec, webhook: new Webhook(whsec) },
    { secret: raw, webhook: new Webhook(Buffer.from(raw), { format: 'raw' }) },
  ];

  it('accepts what we send, and nothing else (NT-30, NT-31)', () => {
    for (const { secret, webhook } of receivers) {
      const headers = webhookHeaders({ ...sent, secret });
      expect(webhook.verify(body, headers)).toEqual(JSON.parse(body));
      expect(() => webhook.verify(`${body} `, headers)).toThrow('No matching signature');
      expect(() => webhook.verify(body, { ...headers, 'webhook-id': 'wd-other' })).toThrow('No matching signature');
      expect(() => webhook.verify(body, webhookHeaders({ ...sent, secret, now: sent.now - 301_000 }))).toThrow('too old');
    }
  });

  it('signs what ours accepts (NT-31)', () => {
    for (const { secret, webhook } of receivers) {
      const at = Math.floor(sent.now / 1000);
      const signature = webhook.sign('msg_1', new Date(sent.now), body);
      const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': String(at), 'webhook-signature': signature };
      expect(verifyWebhook({ headers, body, secret, now: sent.now })).toBeNull();
    }
  });
});

describe('a receiver', () => {
  const { now } = attempt;
  const secret = 'hook-key-1';
  const headers = webhookHeaders(attempt);
  const fault = (over: Record<string, string | string[] | undefined>, received = body, at = now) =>
    verifyWebhook({ headers: { ...headers, ...over }, body: received, secret, now: at });

  it('believes what was signed, as text or bytes, also beside other signatures (NT-31)', () => {
    expect(fault({})).toBeNull();
    expect(verifyWebhook({ headers, body: new TextEncoder().encode(body), secret, now })).toBeNull();
    expect(fault({ 'webhook-signature': `v1,AAAA v1a,BBBB ${headers['webhook-signature']}` })).toBeNull();
  });

  it('believes nothing that is not signed (NT-31)', () => {
    for (const missing of ['webhook-id', 'webhook-timestamp', 'webhook-signature']) {
      expect(fault({ [missing]: undefined })).toBe('not signed');
      expect(fault({ [missing]: [headers[missing]!, headers[missing]!] })).toBe('not signed');
    }
    for (const other of ['', 'a.b', 'a b', '{"a":1}', 'é', 'x'.repeat(129)])
      expect(fault({ 'webhook-id': other })).toBe('not signed');
    for (const timestamp of ['', '-1', '1e9', '1932265628.0', ' 1932265628', 'NaN', '9'.repeat(13)])
      expect(fault({ 'webhook-timestamp': timestamp })).toBe('not signed');
  });

  it('believes nothing that was changed: body, id, time or signature (NT-31)', () => {
    const wrong = 'signature does not match';
    expect(fault({}, `${body} `)).toBe(wrong);
    expect(fault({}, body.replace('otto', 'evil'))).toBe(wrong);
    expect(fault({ 'webhook-id': 'wd-other' })).toBe(wrong);
    expect(fault({ 'webhook-timestamp': '1932265629' })).toBe(wrong);
    for (const other of ['', 'v1,', 'v1', `v2,${headers['webhook-signature']!.slice(3)}`, headers['x-svc-signature']!])
      expect(fault({ 'webhook-signature': other })).toBe(wrong);
    expect(verifyWebhook({ headers, body, secret: 'hook-key-2', now })).toBe(wrong);
  });

  it('takes no signature of a body alone for that of an id, a time and another body (NT-31)', () => {
    const inner = '1932265628.{"event":"request.approved"}';
    const outer = `{"event":"request.created","detail":"x.${inner}`;
    const signed = webhookHeaders({ ...attempt, body: outer })['x-svc-signature']!.slice('sha256='.length);
    const [id, timestamp, ...rest] = outer.split('.');
    const forged = {
      'webhook-id': `${id}.${timestamp}`,
      'webhook-timestamp': rest[0]!,
      'webhook-signature': `v1,${Buffer.from(signed, 'hex').toString('base64')}`,
    };
    expect(`${forged['webhook-id']}.${forged['webhook-timestamp']}.${rest.slice(1).join('.')}`).toBe(outer);
    expect(fault(forged, rest.slice(1).join('.'))).toBe('not signed');
  });

  it('believes what is at most five minutes old or ahead', () => {
    expect(fault({}, body, now + 300_000)).toBeNull();
    expect(fault({}, body, now - 300_000)).toBeNull();
    expect(fault({}, body, now + 301_000)).toBe('timestamp too old');
    expect(fault({}, body, now - 301_000)).toBe('timestamp in the future');
  });

  it('finds any change of any byte (NT-I3)', () => {
    const texts = fc.tuple(fc.string(), fc.string({ minLength: 1 }));
    fc.assert(
      fc.property(texts, texts, ([sent, key], [received, other]) => {
        fc.pre(!key.startsWith('whsec_') && !other.startsWith('whsec_'));
        const signed = webhookHeaders({ ...attempt, body: sent, secret: key });
        const isSame = sent === received && key === other;
        expect(verifyWebhook({ headers: signed, body: sent, secret: key, now })).toBeNull();
        expect(verifyWebhook({ headers: signed, body: received, secret: other, now }) === null).toBe(isSame);
      }),
    );
  });
});
