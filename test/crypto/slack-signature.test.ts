import { describe, expect, it } from 'vitest';
import { type SignedBySlack, slackSignature, slackSignatureFault } from '../../crypto/slack-signature.js';

const secret = 'slk-secret';
const bytes = (text: string) => new TextEncoder().encode(text);
const vectors = [
  ['1900000000', 'payload=%7B%7D', 'v0=64d28514ecbc5808844184c5e39f067c38a44cfc38741d9f285c665ca52610e7'],
  [
    '1900000001',
    'token=x&command=%2Fsvc&text=help&user_id=U07AB12CD&trigger_id=13345224609.738474920.8088930838d88f008e0',
    'v0=ddd81178dfd0d94e3e02072ed81a2982a9c522a0b6af25c8cad7bc031f7d144b',
  ],
] as const;

const fault = (over: Partial<SignedBySlack & { secret: string; now: number }> = {}) => {
  const [timestamp, body, signature] = vectors[0];
  const call = { timestamp, signature, body: bytes(body), ...over };
  return slackSignatureFault(over.secret ?? secret, call, over.now ?? 1_900_000_000_000);
};

describe("Slack's signature (SL-11)", () => {
  it.each(vectors)('of a call at %s', (timestamp, body, signature) => {
    expect(slackSignature(secret, timestamp, body)).toBe(signature);
    expect(slackSignatureFault(secret, { timestamp, signature, body: bytes(body) }, Number(timestamp) * 1000)).toBeNull();
  });

  it.each([
    [-300_000, null],
    [-300_001, 'timestamp in the future'],
    [300_000, null],
    [300_001, 'timestamp too old'],
  ] as const)('passes for 300 s before and after its timestamp: %s ms', (offsetMs, expected) => {
    expect(fault({ now: 1_900_000_000_000 + offsetMs })).toBe(expected);
  });

  it.each<[string, Partial<SignedBySlack>]>([
    ['no signature', { signature: undefined }],
    ['no timestamp', { timestamp: undefined }],
    ['a timestamp with a fraction', { timestamp: '1900000000.0' }],
    ['a timestamp with a sign', { timestamp: '+1900000000' }],
    ['a timestamp that is no number', { timestamp: 'NaN' }],
    ['an empty timestamp', { timestamp: '' }],
  ])('is missing with %s', (_, over) => expect(fault(over)).toBe('not signed'));

  it.each<[string, Partial<SignedBySlack & { secret: string }>]>([
    ['another body', { body: bytes('payload=%7B%7E') }],
    ['another body that reads the same', { body: bytes('payload={}') }],
    ['another timestamp', { timestamp: '1900000001' }],
    ['the same timestamp in another spelling', { timestamp: '01900000000' }],
    ['another secret', { secret: 'slk-secre7' }],
    ['upper case', { signature: vectors[0][2].toUpperCase().replace('V0', 'v0') }],
    ['another version', { signature: vectors[0][2].replace('v0', 'v1') }],
    ['a part of it', { signature: vectors[0][2].slice(0, -1) }],
    ['nothing behind the version', { signature: 'v0=' }],
  ])('does not match with %s', (_, over) => expect(fault(over)).toBe('signature does not match'));

  it.each(['', ' ', '\t'])('is never right with the blank secret %j (SL-1)', (blank) => {
    const [timestamp, body] = vectors[0];
    expect(fault({ secret: blank, signature: slackSignature(blank, timestamp, body) })).toBe('signature does not match');
  });
});
