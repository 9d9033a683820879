import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { eventHash } from '../../../crypto/audit-hash.js';
import { type ChainContext, type ChainFault, chainFault, nextInChain, startChain } from '../../../domain/audit/chain.js';
import { type HashedEvent, hashedKeys, type SealedEvent } from '../../../domain/audit/event.js';
import { auditKey, chainOf, contextOf, headOf, purgeOf, signedBy, strangerKey } from '../../support/audit-chain.js';
import { auditPublicKey } from '../../support/audit-vectors.js';
import { findBySpec, hashBySpec } from './second-verifier.js';

function walk(events: readonly SealedEvent[], context: ChainContext, usersExist = true) {
  let state = startChain;
  for (const event of events) {
    state = nextInChain(state, event, context);
    if (state.fault !== null) break;
  }
  return { state, fault: chainFault(state, context, usersExist) };
}
const faultOf = (events: readonly SealedEvent[], context: ChainContext, usersExist = true): ChainFault | null =>
  walk(events, context, usersExist).fault;
const at = (reason: string, event: { id: string | null; seq: number }) => ({ reason, id: event.id, seq: event.seq });
const rehashed = (event: SealedEvent, change: Partial<HashedEvent>): SealedEvent => {
  const changed = { ...event, ...change };
  return { ...changed, event_hash: eventHash(changed) };
};

const text = fc.oneof(fc.constant(null), fc.string({ unit: 'binary', maxLength: 20 }));
const part = fc.oneof(
  { weight: 6, arbitrary: fc.record({ reason: text, detail_raw: text, database_name: text, client_ip: text }) },
  { weight: 1, arbitrary: fc.constant(null) },
);
/** A checkpoint never comes first: it is appended when at least one event was sealed. */
const parts = fc.tuple(fc.record({ reason: text }), fc.array(part, { maxLength: 30 })).map(([first, rest]) => [first, ...rest]);
const chain = parts.map((each) => chainOf(each));
const longChain = fc.array(part, { maxLength: 30, size: 'max' }).map((each) => chainOf([{}, ...each]));
const [plain, checkpointed] = [chainOf([{}, {}, {}, {}]), chainOf([{}, {}, null, {}, null, null, {}])];

describe('a chain', () => {
  it('is valid with any mix of events and checkpoints; the count follows the rows (AU-I5, AU-31)', () => {
    fc.assert(
      fc.property(parts, (each) => {
        const events = chainOf(each);
        const { state, fault } = walk(events, contextOf(events));
        expect(fault).toBeNull();
        expect(state).toMatchObject({ sealed: each.length, checkpoints: each.filter((one) => one === null).length });
      }),
    );
  });

  it('with one byte of one hashed field changed is invalid at that event (AU-I2)', () => {
    fc.assert(
      fc.property(chain, fc.nat(), fc.constantFrom(...hashedKeys), text, (events, place, key, value) => {
        const index = place % events.length;
        const event = events[index]!;
        const changed = { ...event, [key]: key === 'event_version' ? event.event_version + 1 : value };
        fc.pre(eventHash(changed) !== event.event_hash);
        const tampered = events.with(index, changed);
        expect(faultOf(tampered, contextOf(events))).toMatchObject({ id: changed.id, seq: event.seq });
      }),
    );
  });

  it('without any of its rows, with two swapped or with one inserted is invalid (AU-I3)', () => {
    fc.assert(
      fc.property(chain, fc.infiniteStream(fc.boolean()), fc.nat(), fc.nat(), (events, taken, first, second) => {
        const head = headOf(events);
        const left = events.filter(() => taken.next().value);
        if (left.length < events.length) expect(faultOf(left, contextOf(left, { head }))).not.toBeNull();
        const [a, b] = [events[first % events.length]!, events[second % events.length]!];
        const swapped = events.with(a.seq - 1, { ...b, seq: a.seq }).with(b.seq - 1, { ...a, seq: b.seq });
        if (a !== b) expect(faultOf(swapped, contextOf(events))).not.toBeNull();
        const inserted = [...events.slice(0, a.seq), rehashed(b, { id: 'inserted', prev_hash: a.event_hash })];
        const shifted = events.slice(a.seq);
        const numbered = [...inserted, ...shifted].map((event, index) => ({ ...event, seq: index + 1 }));
        expect(faultOf(numbered, contextOf(events))).not.toBeNull();
      }),
    );
  });

  it('without its newest rows is invalid, with or without its head (AU-I3, AU-42)', () => {
    fc.assert(
      fc.property(chain, fc.nat(), (events, number) => {
        const left = events.slice(0, number % events.length);
        const first = { id: null, seq: left.length + 1 };
        expect(faultOf(left, contextOf(events))).toEqual(at('head_mismatch', first));
        expect(faultOf(left, contextOf(events, { head: null }))?.reason).toBe('head_missing');
      }),
    );
  });

  it('that someone without the key made anew is invalid (AU-I4)', () => {
    const made = chainOf([{}, {}, null, {}], strangerKey);
    expect(faultOf(made, contextOf(made))).toEqual(at('checkpoint_signature_invalid', made[2]!));
    const short = chainOf([{ reason: 'other' }, {}, {}, {}]);
    expect(faultOf(short, contextOf(plain))).toEqual(at('head_mismatch', short[3]!));
    expect(faultOf(short, contextOf(short, { head: headOf(short, strangerKey) }))).toEqual(
      at('head_signature_invalid', short[3]!),
    );
  });
});

describe('each reason, in the order of the checks (AU-71)', () => {
  const cases: [string, readonly SealedEvent[], Partial<ChainContext>, ReturnType<typeof at> | null][] = [
    ['a first event that is not the first', plain.slice(2), {}, at('purge_boundary_unauthenticated', plain[2]!)],
    [
      'a purge that a stranger signed',
      plain.slice(2),
      { purges: [purgeOf(plain[1]!.event_hash, strangerKey)] },
      at('purge_boundary_unauthenticated', plain[2]!),
    ],
    [
      'a purge of other events',
      plain.slice(2),
      { purges: [purgeOf(plain[0]!.event_hash)] },
      at('purge_boundary_unauthenticated', plain[2]!),
    ],
    ['a purge that holds', plain.slice(2), { purges: [purgeOf(plain[1]!.event_hash)] }, null],
    ['a first event with the number zero', [{ ...plain[0]!, seq: 0 }], {}, at('sequence_gap', { ...plain[0]!, seq: 0 })],
    ['a gap', plain.toSpliced(2, 1), {}, at('sequence_gap', plain[3]!)],
    ['the same number twice', plain.toSpliced(2, 0, plain[1]!), {}, at('sequence_gap', plain[1]!)],
    ['another hash before it', plain.with(1, rehashed(plain[1]!, { reason: 'x' })), {}, at('prev_hash_mismatch', plain[2]!)],
    ['another text', plain.with(1, { ...plain[1]!, reason: 'x' }), {}, at('hash_mismatch', plain[1]!)],
    ['no head', plain, { head: null }, at('head_missing', plain[3]!)],
    ['a head that a stranger signed', plain, { head: headOf(plain, strangerKey) }, at('head_signature_invalid', plain[3]!)],
    ['a head rolled back', plain, { head: headOf(plain.slice(0, 2)) }, at('head_mismatch', plain[2]!)],
    ['an anchor that holds', plain, { anchor: { seq: 2, hash: plain[1]!.event_hash } }, null],
    ['another hash than the anchor', plain, { anchor: { seq: 2, hash: plain[0]!.event_hash } }, at('anchor_mismatch', plain[1]!)],
    [
      'an anchor newer than the head',
      plain,
      { anchor: { seq: 5, hash: plain[0]!.event_hash } },
      at('anchor_mismatch', { id: null, seq: 5 }),
    ],
  ];
  for (const [name, events, change, expected] of cases)
    it(`${name}: ${expected?.reason ?? 'valid'}`, () => expect(faultOf(events, contextOf(plain, change))).toEqual(expected));

  it('an anchor below the purge boundary is not checked', () => {
    const context = contextOf(plain, { purges: [purgeOf(plain[1]!.event_hash)], anchor: { seq: 1, hash: 'f'.repeat(64) } });
    expect(faultOf(plain.slice(2), context)).toBeNull();
  });

  it('a purge of all events holds until its own event is sealed', () => {
    const head = headOf(plain);
    expect(faultOf([], contextOf([], { head, purges: [purgeOf(plain[3]!.event_hash)] }))).toBeNull();
    expect(faultOf([], contextOf([], { head, purges: [purgeOf(plain[2]!.event_hash)] }))?.reason).toBe('head_mismatch');
  });

  it('no head before the first user and event', () => {
    expect(faultOf([], contextOf([]), false)).toBeNull();
    expect(faultOf([], contextOf([]))).toEqual({ reason: 'head_missing', id: null, seq: null });
  });

  const stated = JSON.parse(checkpointed[4]!.metadata_json) as Record<string, unknown>;
  const checkpoints: [string, unknown][] = [
    ['checkpoint_malformed', null],
    ['checkpoint_malformed', [stated]],
    ['checkpoint_malformed', { ...stated, signature: 1 }],
    ['checkpoint_malformed', { ...stated, key_id: undefined }],
    ['checkpoint_malformed', { ...stated, chain_head_hash: null }],
    ['checkpoint_malformed', { ...stated, event_count_since_last_checkpoint: 1.5 }],
    ['checkpoint_malformed', { ...stated, event_count_since_last_checkpoint: '1' }],
    ['checkpoint_head_mismatch', { ...stated, chain_head_hash: plain[0]!.event_hash }],
    ['checkpoint_count_mismatch', { ...stated, event_count_since_last_checkpoint: 2 }],
    ['checkpoint_signature_invalid', { ...stated, signature: 'f'.repeat(128) }],
    ['checkpoint_signature_invalid', { ...stated, key_id: strangerKey.keyId }],
  ];
  for (const [reason, metadata] of checkpoints)
    it(`${reason}: ${JSON.stringify(metadata)?.slice(0, 60)}`, () => {
      const event = rehashed(checkpointed[4]!, { metadata_json: JSON.stringify(metadata) });
      expect(faultOf(checkpointed.slice(0, 4).concat(event), contextOf(checkpointed))).toEqual(at(reason, event));
    });

  it('a checkpoint whose metadata is no JSON', () => {
    const event = rehashed(checkpointed[2]!, { metadata_json: '{' });
    expect(faultOf([...checkpointed.slice(0, 2), event], contextOf(checkpointed))?.reason).toBe('checkpoint_malformed');
  });

  it('an unknown key id counts as an invalid signature (AU-40)', () => {
    const context = contextOf(checkpointed, { isSigned: signedBy(strangerKey) });
    expect(faultOf(checkpointed, context)).toEqual(at('checkpoint_signature_invalid', checkpointed[2]!));
  });
});

it('a verifier written from the text of the rules alone agrees on 10,000 random events, sound or tampered (AU-30)', () => {
  let seen = 0;
  const snake = (head: ChainContext['head']) =>
    head && {
      seq: head.seq,
      event_hash: head.eventHash,
      sealed_at: head.sealedAt,
      key_id: head.keyId,
      signature: head.signature,
    };
  const change = fc.tuple(
    fc.constantFrom('none', 'field', 'drop', 'twice', 'rehash', 'seq', 'cut', 'start', 'count'),
    fc.nat(),
    text,
  );
  const anchor = fc.option(fc.record({ seq: fc.integer({ min: 1, max: 25 }), pick: fc.nat() }));
  fc.assert(
    fc.property(longChain, change, anchor, (sound, [kind, place, value], picked) => {
      const index = place % sound.length;
      const event = sound[index]!;
      const made: Record<string, readonly SealedEvent[]> = {
        field: sound.with(index, { ...event, reason: value }),
        drop: sound.toSpliced(index, 1),
        twice: sound.toSpliced(index, 0, event),
        rehash: sound.with(index, rehashed(event, { metadata_json: String(value) })),
        seq: sound.with(index, { ...event, seq: event.seq + (place % 3) - 1 }),
        cut: sound.slice(0, index),
        start: sound.slice(index),
        count: sound.with(index, rehashed(event, { metadata_json: event.metadata_json.replace(/:(\d+),/, ':7$1,') })),
      };
      const events = made[kind] ?? sound;
      const purges = place % 2 === 0 ? [] : [purgeOf(event.prev_hash ?? 'f'.repeat(64))];
      const fixed = picked && { seq: picked.seq, hash: sound[picked.pick % sound.length]!.event_hash };
      const head = headOf(place % 5 === 0 ? sound.slice(0, index + 1) : sound, place % 7 === 0 ? strangerKey : auditKey);
      for (const each of events) expect(hashBySpec({ ...each })).toBe(eventHash(each));
      seen += events.length;
      const bySpec = findBySpec({
        rows: events.map((each) => ({ ...each })),
        head: snake(head),
        purges: purges.map((p) => ({
          last_purged_hash: p.lastPurgedHash,
          purged_before: p.purgedBefore,
          retained_count: p.retainedCount,
          key_id: p.keyId,
          signature: p.signature,
        })),
        keys: { [auditKey.keyId]: auditPublicKey },
        anchor: fixed,
      });
      expect(faultOf(events, contextOf(sound, { head, purges, anchor: fixed }))).toEqual(bySpec);
    }),
    { numRuns: 1000 },
  );
  expect(seen).toBeGreaterThan(10_000);
}, 60_000);
