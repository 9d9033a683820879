import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { approvalMacs } from '../../crypto/approval-macs.js';
import type { StoredRequest } from '../../domain/request/types.js';
import { type Attempt, decisionText, generationText, requestText, stateText, vouchedText } from '../../domain/vouched-text.js';
import { approval, now, requestIn, storedRequest } from '../support/stored-request.js';

const macs = approvalMacs(Uint8Array.from({ length: 32 }, (_, index) => index));
const request = storedRequest({ shareSelectors: ['group:readers'], dialect: null });
const decision = { ...approval(0, 'bob', 'group:reviewers'), tokenId: '0d5cf0a1-7c8b-4b3a-9d63-5a1f0c2e4b71' };
const attempt: Attempt = {
  id: 'c0ffee00-0000-4000-8000-000000000001',
  fence: 1,
  mutating: true,
  marker: 'required',
  status: 'failed',
  lost: true,
  unresolved: true,
  outcome: null,
};
const generation = { number: 7, digest: 'd'.repeat(64), content: { b: [1, null], a: { zu: 'groß' } } };

describe('the texts that codes are made over (HD-50)', () => {
  it('are those of the vectors in docs/integrity.md', () => {
    expect(macs.keyCheck).toMatchInlineSnapshot(`"8a4838f13976447dbccabf3e15b601d69e27b15fe974eeee2eaeae013d64c0bc"`);
    expect(requestText(request)).toMatchInlineSnapshot(`
      "svc-request-mac-v1
      36:4f0c9d0e-6a53-4c0b-9d4a-0f6b7c1f2a11
      64:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
      5:alice
      9:requester
      -
      5:false
      -
      5:false
      -
      13:1777626870000
      354:{"allowSameApproverAcrossSteps":false,"allowSelfApprove":false,"approvalTtlSecs":7200,"autoApprove":null,"database":"app","environment":"production","explain":false,"id":"wf:app:production:e3b0c44298fc","pendingTtlSecs":86400,"requireReason":false,"statementTimeoutSecs":null,"steps":[{"approvers":[{"min":1,"selector":"group:reviewers"}],"mode":"all"}]}
      1:1
      13:group:readers
      "
    `);
    expect(macs.mac(requestText(request))).toMatchInlineSnapshot(
      `"8d6098a30d33ac93653a54e92755163c597cf71e2b16632d0c723271852fdd11"`,
    );
    const pathed = requestText({ ...request, searchPath: ['app', 'public'] });
    expect(pathed).toBe(`${requestText(request)}1:2\n3:app\n6:public\n`);
    expect(macs.mac(pathed)).toMatchInlineSnapshot(`"1f51942c040436c941317843b972a01c48bc91087b7ac7ea04ae931f7ab87b6c"`);
    expect(stateText({ ...request, attempts: [attempt] })).toMatchInlineSnapshot(`
      "svc-state-mac-v1
      36:4f0c9d0e-6a53-4c0b-9d4a-0f6b7c1f2a11
      64:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
      1:1
      7:pending
      1:0
      1:0
      13:1777713270000
      -
      -
      5:false
      -
      1:1
      36:c0ffee00-0000-4000-8000-000000000001
      1:1
      4:true
      8:required
      6:failed
      4:true
      4:true
      "
    `);
    expect(macs.mac(stateText({ ...request, attempts: [attempt] }))).toMatchInlineSnapshot(
      `"5d346c9f16bda657067d14ad8d1cb54b4cb3e29d12fa23b04dab25f6d364811f"`,
    );
    expect(decisionText(request, decision)).toMatchInlineSnapshot(`
      "svc-decision-mac-v1
      36:4f0c9d0e-6a53-4c0b-9d4a-0f6b7c1f2a11
      64:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
      5:alice
      3:bob
      1:0
      15:group:reviewers
      7:approve
      13:1777626900000
      36:0d5cf0a1-7c8b-4b3a-9d63-5a1f0c2e4b71
      "
    `);
    expect(macs.mac(decisionText(request, decision))).toMatchInlineSnapshot(
      `"e22235c9d45d5bf2cbfe9533cfa085e731e149e39163b5154acdb10049a8c3a8"`,
    );
    expect(generationText(generation)).toMatchInlineSnapshot(`
      "svc-generation-mac-v1
      1:7
      64:dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd
      33:{"a":{"zu":"groß"},"b":[1,null]}
      "
    `);
    expect(macs.mac(generationText(generation))).toMatchInlineSnapshot(
      `"1e50a83bdf31518736be5d376555b72c27aff01e107792da9dc4b145c3216262"`,
    );
  });

  const values = fc.array(
    fc.oneof(fc.string({ unit: 'binary', maxLength: 6 }), fc.constantFrom('-', '1:a', '\n', null), fc.nat(), fc.boolean()),
    { maxLength: 6 },
  );

  it('differ where the values do', () => {
    const asText = (list: readonly unknown[]) => JSON.stringify(list.map((value) => (value === null ? null : String(value))));
    fc.assert(
      fc.property(values, values, (a, b) => {
        expect(vouchedText('k', a) === vouchedText('k', b)).toBe(asText(a) === asText(b));
      }),
    );
  });

  it('do not depend on the order of keys that the database gives', () => {
    const turned = Object.fromEntries(Object.entries(request.policy!).reverse()) as NonNullable<StoredRequest['policy']>;
    expect(requestText({ ...request, policy: turned })).toBe(requestText(request));
    expect(generationText({ ...generation, content: { a: { zu: 'groß' }, b: [1, null] } })).toBe(generationText(generation));
  });

  const approved = requestIn('approved', { operation: 'execute_dml' });
  const other: { [K in keyof StoredRequest]?: StoredRequest[K] } = {
    id: 'x',
    requester: 'x',
    requesterRole: 'x',
    approvalDigest: 'x',
    dialect: 'mysql',
    emergency: true,
    passedBy: 'policy',
    noResultStore: true,
    maxAffectedRows: 5,
    searchPath: [],
    createdAt: now,
    shareSelectors: ['user:x'],
    policy: null,
  };
  it.each(Object.keys(other))('cover %s of a request', (key) => {
    expect(requestText({ ...approved, [key]: other[key as keyof StoredRequest] })).not.toBe(requestText(approved));
  });

  const moved: Partial<Parameters<typeof stateText>[0]> = {
    id: 'x',
    approvalDigest: 'x',
    version: 9,
    status: 'dispatched',
    currentStep: 7,
    fence: 9,
    expiresAt: now,
    approvedAt: now,
    dispatchBy: now,
    cancelledWhileLost: true,
    failureReason: 'x',
    attempts: [attempt],
  };
  it.each(Object.keys(moved))('cover %s of where it stands', (key) => {
    expect(stateText({ ...approved, [key]: moved[key as keyof typeof moved] })).not.toBe(stateText(approved));
  });

  it.each(Object.keys(attempt).filter((key) => key !== 'outcome'))('cover %s of an attempt', (key) => {
    const changed = { ...attempt, [key]: typeof attempt[key as keyof typeof attempt] === 'boolean' ? false : 'x' };
    expect(stateText({ ...approved, attempts: [changed] })).not.toBe(stateText({ ...approved, attempts: [attempt] }));
  });

  it.each([
    ['of a part', { status: 'failed', outcome: 'partial' }, { outcome: 'rolled_back' }],
    ['noted of a lost attempt', { status: 'failed', outcome: 'committed' }, { outcome: null }],
    ['noted of nothing', { status: 'failed', outcome: null }, { outcome: 'already_applied' }],
  ] as const)('cover the outcome %s', (_, stored, forged) => {
    const text = (over: Partial<Attempt>) => stateText({ ...approved, attempts: [{ ...attempt, ...stored, ...over }] });
    expect(text(forged)).not.toBe(text({}));
  });

  it.each([
    { status: 'completed', outcome: 'committed' },
    { status: 'failed', outcome: 'rolled_back' },
    { status: 'failed', outcome: 'unknown' },
    { status: 'running', outcome: null },
  ] as const)('leave out the outcome $outcome, to which $status adds nothing', ({ status, outcome }) => {
    const text = (one: Attempt['outcome']) => stateText({ ...approved, attempts: [{ ...attempt, status, outcome: one }] });
    expect(text(outcome)).toBe(text(null));
  });

  it.each(['step', 'userId', 'action', 'selector', 'at', 'tokenId'])('cover %s of a decision', (key) => {
    expect(decisionText(request, { ...decision, [key]: 'x' })).not.toBe(decisionText(request, decision));
    expect(decisionText({ ...request, id: 'x' }, decision)).not.toBe(decisionText(request, decision));
  });
});

describe('a code', () => {
  it('holds under its own key alone, and never when it is missing, empty or of another form', () => {
    const text = requestText(request);
    expect(macs.holds(text, macs.mac(text))).toBe(true);
    const key = approvalMacs(new Uint8Array(32).fill(9));
    for (const wrong of [null, '', '0'.repeat(64), macs.mac(`${text} `), key.mac(text), macs.mac(text).toUpperCase()])
      expect(macs.holds(text, wrong)).toBe(false);
  });
});
