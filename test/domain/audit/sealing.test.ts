import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { eventHash } from '../../../crypto/audit-hash.js';
import { signingKeyFromSeed } from '../../../crypto/ed25519.js';
import { chainFault, nextInChain, startChain } from '../../../domain/audit/chain.js';
import type { AuditEvent, SealedEvent } from '../../../domain/audit/event.js';
import { type ChainEnd, checkpointDueInMs, type Sealer, sealRun } from '../../../domain/audit/sealing.js';
import { contextOf } from '../../support/audit-chain.js';
import { auditSeed, hashVectors } from '../../support/audit-vectors.js';

const key = signingKeyFromSeed(auditSeed);
const start: ChainEnd = { seq: 0, hash: null, checkpointSeq: 0, checkpointAt: null };
const { A, B, C } = hashVectors;
const unsealed = (event: (typeof A)['event']): AuditEvent => ({ ...event, prev_hash: null, event_hash: null, seq: null });

function sealer(now: string): Sealer {
  let made = 0;
  const newId = () => (made++ === 0 ? C.event.id : `${made}`);
  return { hash: eventHash, newId, keyId: key.keyId, sign: (text) => key.sign(Buffer.from(text)), now };
}

const instant = (ms: number) => new Date(ms).toISOString().replace('Z', '000Z');
const from = Date.parse('2031-04-05T06:07:08.123Z');

describe('sealing a run of events', () => {
  it('makes the vectors: two events, and the checkpoint 60 minutes after the first (AU-30, AU-31, AU-41, AU-45)', () => {
    const events = [unsealed(A.event), unsealed(B.event)];
    const early = sealRun(start, events, sealer('2031-04-05T07:07:00.000000Z'));
    expect(early).toMatchObject({ checkpoints: [], end: { seq: 2, hash: B.hash } });
    expect(checkpointDueInMs(early.end, '2031-04-05T07:07:00.000000Z')).toBe(8123);
    const late = sealRun(start, events, sealer('2031-04-05T07:08:00.000000Z'));
    expect(late.events.map(({ seq, event_hash }) => [seq, event_hash])).toEqual([
      [1, A.hash],
      [2, B.hash],
    ]);
    expect(late.checkpoints).toEqual([{ ...C.event, event_hash: C.hash, seq: 3 }]);
    expect(late.end).toEqual({ seq: 3, hash: C.hash, checkpointSeq: 3, checkpointAt: '2031-04-05T07:08:00.000000Z' });
    expect(sealRun(early.end, [], sealer('2031-04-05T07:08:00.000000Z')).checkpoints).toEqual(late.checkpoints);
  });

  it('adds no checkpoint while no event follows the last one, however long that takes (AU-41)', () => {
    const { end } = sealRun(start, [unsealed(A.event)], sealer(instant(from + 3_600_000)));
    expect(end.seq).toBe(2);
    expect(checkpointDueInMs(end, instant(from + 99 * 3_600_000))).toBe(Number.POSITIVE_INFINITY);
    expect(sealRun(end, [], sealer(instant(from + 99 * 3_600_000))).checkpoints).toEqual([]);
  });

  it('adds one at once when the clock has gone back far, and no more until the next is due (AU-41)', () => {
    const ahead = sealRun(start, [unsealed(A.event)], sealer(instant(from + 99 * 3_600_000)));
    expect(ahead.checkpoints).toHaveLength(1);
    const back = sealRun(ahead.end, [unsealed(B.event)], sealer(instant(from)));
    expect(back.checkpoints).toHaveLength(1);
    expect(sealRun(back.end, [unsealed(B.event)], sealer(instant(from + 1000))).checkpoints).toEqual([]);
  });

  it('keeps every checkpoint valid, in low traffic, in bursts and in any mix of both (AU-I5)', () => {
    const batch = fc.record({ size: fc.oneof(fc.nat(3), fc.nat(260)), pauseMs: fc.oneof(fc.nat(5000), fc.nat(8_000_000)) });
    fc.assert(
      fc.property(fc.array(batch, { maxLength: 12 }), (batches) => {
        let [end, now] = [start, from];
        const sealed: SealedEvent[] = [];
        for (const { size, pauseMs } of batches) {
          now += pauseMs;
          const events = Array.from({ length: size }, () => unsealed({ ...A.event, created_at: instant(now) }));
          const run = sealRun(end, events, sealer(instant(now)));
          sealed.push(...[...run.events, ...run.checkpoints].sort((a, b) => a.seq - b.seq));
          end = run.end;
          expect(end.seq - end.checkpointSeq).toBeLessThan(100);
          expect(checkpointDueInMs(end, instant(now))).toBeGreaterThan(0);
        }
        const context = contextOf(sealed);
        const state = sealed.reduce((state, event) => nextInChain(state, event, context), startChain);
        expect(chainFault(state, context, sealed.length > 0)).toBeNull();
        expect(state.checkpoints).toBe(sealed.filter(({ event_type }) => event_type === C.event.event_type).length);
      }),
      { numRuns: 60 },
    );
  });
});
