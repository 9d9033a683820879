import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type SigningKey, signingKeyFromSeed } from '../../crypto/ed25519.js';
import { evidenceTools } from '../../crypto/evidence-tools.js';
import { signCheckpoint } from '../../crypto/signed-note.js';
import { evidenceText } from '../../domain/evidence/document.js';
import { verifyEvidence } from '../../domain/evidence/verify.js';
import { compactJson } from '../../lib/json/read.js';
import { type Loose, startTestApi, type TestApi } from '../support/api.js';
import { evidenceToml, makeEvidence } from '../support/evidence.js';

let api: TestApi;
let signer: SigningKey;
/** A request that was approved by two and ran twice, another one like it, and one that passed by policy. */
let document: string;
let other: Loose;
let passed: string;
beforeAll(async () => {
  api = await startTestApi({ toml: evidenceToml });
  const made = await makeEvidence(api);
  signer = made.signer;
  ({ document, passed } = made);
  other = JSON.parse(made.other).evidence;
});
afterAll(() => api?.close());

const verify = (text: string, trustedKeys: string[] | null = null) =>
  verifyEvidence(text, { trustedKeys, anchor: null }, evidenceTools);
const faultOf = (text: string, trustedKeys: string[] | null = null) => verify(text, trustedKeys).fault?.code ?? null;

/** The document with a change, signed again by somebody who has this key. */
function forged(change: (evidence: Loose) => void, key = signer, source = document): string {
  const { evidence } = JSON.parse(source);
  change(evidence);
  const body = JSON.stringify(evidence);
  const text = evidenceText(evidence.request.id, evidenceTools.sha256(compactJson(body)));
  const signature = { key_id: key.keyId, signature: key.sign(new TextEncoder().encode(text)) };
  return `{"evidence":${body},"signature":${JSON.stringify(signature)}}`;
}

const typed = (evidence: Loose, type: string) => evidence.events.find((each: Loose) => each.event.event_type === type);

describe('evidence (AU-85)', () => {
  it('holds as it was given, and with any white space between its tokens', () => {
    expect([faultOf(document), faultOf(document, [signer.publicKeyHex]), faultOf(passed)]).toEqual([null, null, null]);
    expect(faultOf(JSON.stringify(JSON.parse(document), null, 2))).toBeNull();
    expect(faultOf(forged(() => {}))).toBeNull();
  });

  it('of somebody without the audit key is refused, whatever it says', () => {
    const own = signingKeyFromSeed(new Uint8Array(32).fill(9));
    const withOwn = forged((evidence) => {
      for (const key of evidence.keys.filter((each: Loose) => each.purpose === 'audit'))
        Object.assign(key, { key_id: own.keyId, public_key: own.publicKeyHex });
    }, own);
    expect(faultOf(withOwn, [signer.publicKeyHex])).toBe('key_not_trusted');
    // Even when nothing is trusted, the checkpoint is not theirs.
    expect(faultOf(withOwn)).toBe('checkpoint_invalid');
    expect(
      faultOf(
        forged(() => {}, own),
        [signer.publicKeyHex],
      ),
    ).toBe('signature_invalid');
    expect(faultOf(document, [own.publicKeyHex])).toBe('key_not_trusted');
    const beside = forged(
      (evidence) => evidence.keys.push({ ...evidence.keys[0], key_id: own.keyId, public_key: own.publicKeyHex }),
      own,
    );
    expect(faultOf(beside, [signer.publicKeyHex])).toBe('key_not_trusted');
  });

  it('is refused when anything is changed and not signed again', () => {
    for (const [from, to] of [
      ['"detail":"select 7', '"detail":"select 8'],
      ['"status":"executed"', '"status":"failed"'],
      ['"user":"ada"', '"user":"eve"'],
      ['"metadata":{}', '"metadata":{"a":1}'],
      ['"bytes":', '"bytes":1'],
    ] as const) {
      if (from !== '"bytes":') expect(document, from).toContain(from);
      expect(document.includes(from) ? faultOf(document.replace(from, to)) : 'signature_invalid', from).toBe('signature_invalid');
    }
  });

  /** What the audit key itself must not have signed: each check holds by itself. */
  const lies: [string, (evidence: Loose) => void, string][] = [
    ['an event with other words', (e) => (typed(e, 'request.created').event.reason = 'because'), 'event_hash_mismatch'],
    [
      'an event with its own hash',
      (e) => {
        const { event } = typed(e, 'request.approved');
        event.actor_id = 'eve';
        event.event_hash = evidenceTools.eventHash(event);
      },
      'event_not_in_log',
    ],
    ['a proof of another event', (e) => (e.events[1].proof = e.events[0].proof), 'event_not_in_log'],
    ['another seq', (e) => (e.events[0].event.seq += 1), 'event_not_in_log'],
    ['an event of another request with a valid proof', (e) => (e.events[1] = other.events[1]), 'event_foreign'],
    ['an event twice', (e) => e.events.splice(1, 0, e.events[1]), 'event_order'],
    ['events in another order', (e) => e.events.reverse(), 'event_order'],
    ['no events', (e) => (e.events = []), 'event_order'],
    ['an event left out', (e) => e.events.splice(3, 1), 'order_not_allowed'],
    ['the creation left out', (e) => e.events.shift(), 'order_not_allowed'],
    ['the end left out', (e) => e.events.pop(), 'status_mismatch'],
    ['another text', (e) => (e.content.detail = 'select 8'), 'text_mismatch'],
    [
      'another text with its hash',
      (e) => Object.assign(e.content, { detail: 'select 8', detail_sha256: evidenceTools.sha256('select 8') }),
      'digest_mismatch',
    ],
    ['another revision', (e) => (e.content.policy_revision = 'r9'), 'digest_mismatch'],
    ['another digest', (e) => (e.content.approval_digest = '0'.repeat(64)), 'digest_mismatch'],
    [
      'another digest throughout',
      (e) => (e.content.approval_digest = e.request.approval_digest = '0'.repeat(64)),
      'digest_mismatch',
    ],
    [
      'another digest without the text',
      (e) => {
        e.content.detail = null;
        e.content.approval_digest = e.request.approval_digest = '0'.repeat(64);
      },
      'token_mismatch',
    ],
    [
      'another hash of a text that is not there',
      (e) => Object.assign(e.content, { detail: null, detail_sha256: '0'.repeat(64) }),
      'token_mismatch',
    ],
    ['a decision more', (e) => e.decisions.push(e.decisions[0]), 'decision_mismatch'],
    ['a decision of somebody else', (e) => (e.decisions[0].user = 'eve'), 'decision_mismatch'],
    [
      'the approval of another request',
      (e) => {
        e.decisions[1] = other.decisions[1];
        e.events[2] = other.events[2];
      },
      'event_foreign',
    ],
    [
      'a policy that asks for more',
      (e) => (e.policy.workflow = e.policy.workflow.replace('"min":2', '"min":3')),
      'approval_missing',
    ],
    [
      'a policy that asks for less',
      (e) => (e.policy.workflow = e.policy.workflow.replace('"min":2', '"min":1')),
      'approval_missing',
    ],
    [
      'a policy that asks others',
      (e) => (e.policy.workflow = e.policy.workflow.replace('dba-team', 'owners')),
      'approval_not_allowed',
    ],
    ['no policy', (e) => (e.policy.workflow = null), 'approval_not_allowed'],
    ['a policy that cannot be read', (e) => (e.policy.workflow = '{}'), 'malformed'],
    ['another requester', (e) => (e.request.requester = 'ada'), 'event_foreign'],
    ['another reason', (e) => (e.request.reason = 'to look'), 'event_foreign'],
    ['another pair', (e) => (e.request.environment = 'staging'), 'event_foreign'],
    ['another operation', (e) => (e.request.operation = 'execute_dml'), 'event_foreign'],
    [
      'the tokens swapped',
      (e) => {
        const [first, second] = e.attempts;
        [first.execution_token, second.execution_token] = [second.execution_token, first.execution_token];
      },
      'token_mismatch',
    ],
    ['a token of another request', (e) => (e.attempts[0].execution_token = other.attempts[0].execution_token), 'token_mismatch'],
    [
      'a token with another member',
      (e) => (e.attempts[0].execution_token = e.attempts[0].execution_token.replace('"v":2', '"v":2,"w":1')),
      'token_invalid',
    ],
    ['a token that is none', (e) => (e.attempts[0].execution_token = '[]'), 'token_invalid'],
    [
      'a key of tokens as a key of the log',
      (e) => {
        for (const key of e.keys) if (key.purpose === 'execution_token') key.purpose = 'audit';
      },
      'token_invalid',
    ],
    [
      'a key that began later',
      (e) => {
        for (const key of e.keys) if (key.purpose === 'execution_token') key.created_at = '2999-01-01T00:00:00.000Z';
      },
      'token_invalid',
    ],
    [
      'a key that had ended',
      (e) => {
        for (const key of e.keys) if (key.purpose === 'execution_token') key.not_after = '2020-01-01T00:00:00.000Z';
      },
      'token_invalid',
    ],
    ['a key under another id', (e) => (e.keys[1].key_id = '0'.repeat(16)), 'malformed'],
    ['a key twice', (e) => e.keys.push(e.keys[1]), 'malformed'],
    ['an attempt left out', (e) => e.attempts.pop(), 'attempt_mismatch'],
    ['attempts in another order', (e) => e.attempts.reverse(), 'attempt_mismatch'],
    ['another agent', (e) => (e.attempts[0].agent_id = 'agent-9'), 'attempt_mismatch'],
    ['another outcome', (e) => (e.attempts[0].outcome = 'rolled_back'), 'attempt_mismatch'],
    ['another status of an attempt', (e) => (e.attempts[1].status = 'failed'), 'attempt_mismatch'],
    ['another status', (e) => (e.request.status = 'failed'), 'status_mismatch'],
    ['a checkpoint of nobody', (e) => (e.checkpoint = e.checkpoint.replace(/\n\n— .*/, '\n\n')), 'checkpoint_invalid'],
    ['a checkpoint of another size', (e) => (e.checkpoint = e.checkpoint.replace(/\n\d+\n/, '\n9999\n')), 'checkpoint_invalid'],
    [
      'a checkpoint of another log',
      (e) => (e.checkpoint = signCheckpoint({ origin: 'svc', size: 9999, root: new Uint8Array(32) }, signer)),
      'event_not_in_log',
    ],
    ['an unknown member', (e) => (e.more = 1), 'malformed'],
    ['a member left out', (e) => delete e.policy.generation, 'malformed'],
    ['another format', (e) => (e.format = 'svc-evidence-v2'), 'malformed'],
    ['a huge number', (e) => (e.events[0].event.seq = 1e300), 'malformed'],
    ['a fraction', (e) => (e.attempts[0].fence = 1.5), 'malformed'],
    ['half a character', (e) => (e.content.detail = '\ud800'), 'malformed'],
  ];
  it.each(lies)('does not hold with %s', (_, change, code) => {
    expect(faultOf(forged(change))).toBe(code);
  });

  it('does not hold where a request passed that its policy does not let pass', () => {
    const asks = (e: Loose) => (e.policy.workflow = e.policy.workflow.replace(/"autoApprove":\{[^}]*\}/, '"autoApprove":null'));
    expect(faultOf(forged(asks, signer, passed))).toBe('approval_missing');
    const by = (...channels: string[]) =>
      forged(
        (e) => (e.policy.workflow = e.policy.workflow.replace(/"channels":\[[^\]]*\]/, `"channels":${JSON.stringify(channels)}`)),
        signer,
        passed,
      );
    expect([faultOf(by('mcp', 'slack')), faultOf(by('api')), faultOf(by())]).toEqual(['approval_missing', null, null]);
    expect(faultOf(forged((e) => (e.request.emergency = true), signer, passed))).toBe('approval_missing');
    expect(faultOf(forged((e) => (e.request.require_approval = true), signer, passed))).toBe('approval_missing');
  });

  it('has no member twice and no number in two forms', () => {
    expect(faultOf(document.replace('{"evidence"', '{"signature":{},"evidence"'))).toBe('malformed');
    expect(faultOf(document.replace('"content":{', '"content":{"detail":"x",'))).toBe('malformed');
    expect(faultOf(document.replace('"generation":1', '"generation":1.0'))).toBe('malformed');
    expect(faultOf(document.replace('"generation":1', '"generation":01'))).toBe('malformed');
    for (const text of ['', 'null', '[]', '{}', `\ufeff${document}`, `${document}x`, document.slice(0, -3)])
      expect(faultOf(text), text.slice(0, 9)).toBe('malformed');
  });
});

it('any byte changed outside the white space makes verification fail, or changes nothing that is stated (AU-I11)', () => {
  const bytes = new TextEncoder().encode(document);
  const stated = JSON.stringify(verify(document));
  const isBlank = (byte: number) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
  fc.assert(
    fc.property(fc.nat(bytes.length - 1), fc.nat(255), (at, byte) => {
      if (bytes[at] === byte || isBlank(bytes[at] as number)) return;
      const changed = bytes.slice();
      changed[at] = byte;
      let text: string;
      try {
        text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(changed);
      } catch {
        return;
      }
      const verdict = verify(text);
      if (verdict.fault === null) expect(JSON.stringify(verdict)).toBe(stated);
    }),
    { numRuns: 3000 },
  );
});
