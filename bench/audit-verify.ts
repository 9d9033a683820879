import { randomUUID } from 'node:crypto';
import { eventHash } from '../crypto/audit-hash.js';
import { signingKeyFromSeed, verifySignature } from '../crypto/ed25519.js';
import { type ChainContext, chainFault, nextInChain, startChain } from '../domain/audit/chain.js';
import type { AuditEvent, SealedEvent } from '../domain/audit/event.js';
import { sealRun } from '../domain/audit/sealing.js';
import { headText } from '../domain/audit/signed-texts.js';
import { hundredths } from './statistics.js';
import type { BenchOptions } from './system.js';

const now = '2031-04-05T06:08:00.000000Z';
const key = signingKeyFromSeed(new Uint8Array(32).fill(1));
const sign = (text: string) => key.sign(new TextEncoder().encode(text));

/** Measures the walk over a chain on one core: every hash, link and signed checkpoint. PostgreSQL and the tree have no part in it. */
export async function auditVerify({ count = 200_000, runs = 5 }: BenchOptions): Promise<Record<string, unknown>> {
  const events = chainOf(count);
  const last = events.at(-1)!;
  const head = { seq: last.seq, eventHash: last.event_hash, sealedAt: now };
  const context: ChainContext = {
    hash: eventHash,
    isSigned: (_, text, signature) => verifySignature(key.publicKeyHex, new TextEncoder().encode(text), signature),
    head: { ...head, keyId: key.keyId, signature: sign(headText(head)) },
    anchor: null,
    purges: [],
  };
  const perSecond: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    const startedAt = performance.now();
    const state = events.reduce((walked, event) => nextInChain(walked, event, context), startChain);
    if (chainFault(state, context, true) !== null) throw new Error('the chain is not valid');
    perSecond.push(events.length / ((performance.now() - startedAt) / 1000));
  }
  return { events: events.length, per_second: perSecond.map(hundredths) };
}

function chainOf(count: number): SealedEvent[] {
  const end = { seq: 0, hash: null, checkpointSeq: 0, checkpointAt: null };
  const { events, checkpoints } = sealRun(end, Array.from({ length: count }, eventOf), {
    ...{ hash: eventHash, newId: randomUUID, keyId: key.keyId, sign, now },
  });
  return [...events, ...checkpoints].sort((a, b) => a.seq - b.seq);
}

const eventOf = (): AuditEvent => ({
  ...{ id: randomUUID(), event_type: 'request.rejected', event_category: 'approval', event_version: 1, outcome: 'denied' },
  ...{ actor_id: 'bruno', actor_type: 'user', resource_type: 'request', resource_id: randomUUID(), peer_ip: '10.0.0.4' },
  ...{ client_ip: '198.51.100.7', client_ip_source: 'xff', request_id: randomUUID(), operation: 'execute_dml' },
  ...{ database_name: 'orders', environment: 'production', detail_fingerprint: null, detail_raw: null, reason: 'zu groß 🚫' },
  metadata_json: '{"step_number":1,"total_steps":2,"matched_selector":"group:payments-leads"}',
  ...{ prev_hash: null, created_at: now, event_hash: null, seq: null },
});
