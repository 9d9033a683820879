import { randomUUID } from 'node:crypto';
import { eventHash } from '../crypto/audit-hash.js';
import { signingKeyFromSeed, verifySignature } from '../crypto/ed25519.js';
import { type ChainContext, chainFault, nextInChain, startChain } from '../domain/audit/chain.js';
import type { AuditEvent, SealedEvent } from '../domain/audit/event.js';
import { type ChainEnd, sealRun } from '../domain/audit/sealing.js';
import { headText } from '../domain/audit/signed-texts.js';
import type { BenchOptions } from './system.js';

const now = '2031-04-05T06:08:00.000000Z';
const key = signingKeyFromSeed(new Uint8Array(32).fill(1));
const { sign } = key;

const perBatch = 10_000;

/**
 * Measures the walk over a chain on one core: every hash, link and signed checkpoint. PostgreSQL and the tree are left out. The chain is made batch
 * by batch outside the measured time, so that a log of any size fits in memory.
 */
export async function auditVerify({ count = 200_000, runs = 5 }: BenchOptions): Promise<Record<string, unknown>> {
  const perSecond: number[] = [];
  const perCpuSecond: number[] = [];
  let walked = 0;
  for (let run = 0; run < runs; run += 1) {
    const { events, seconds, cpuSeconds } = walk(count);
    walked = events;
    perSecond.push(Math.round(events / seconds));
    perCpuSecond.push(Math.round(events / cpuSeconds));
  }
  const memory_mib = Math.round(process.memoryUsage.rss() / 1_048_576);
  // While others use the processor too, only the second number tells what a core can do.
  return { events: walked, per_second: perSecond, per_cpu_second: perCpuSecond, memory_mib };
}

function walk(count: number): { events: number; seconds: number; cpuSeconds: number } {
  const context: ChainContext = {
    hash: eventHash,
    isSigned: (_, text, signature) => verifySignature(key.publicKeyHex, text, signature),
    head: headAt(Number.MAX_SAFE_INTEGER, ''),
    anchor: null,
    purges: [],
  };
  let end: ChainEnd = { seq: 0, hash: null, checkpointSeq: 0, checkpointAt: null };
  let state = startChain;
  let ms = 0;
  let cpuUs = 0;
  for (let made = 0; made < count; made += perBatch) {
    const batch = chainFrom(end, Math.min(perBatch, count - made));
    end = batch.end;
    const startedAt = performance.now();
    const cpu = process.cpuUsage();
    for (const event of batch.events) state = nextInChain(state, event, context);
    ms += performance.now() - startedAt;
    const { user, system } = process.cpuUsage(cpu);
    cpuUs += user + system;
  }
  const fault = chainFault(state, { ...context, head: headAt(end.seq, end.hash ?? '') }, true);
  if (fault !== null) throw new Error(`the chain is not valid: ${fault.reason} at ${fault.seq}`);
  return { events: state.sealed, seconds: ms / 1000, cpuSeconds: cpuUs / 1e6 };
}

function headAt(seq: number, eventHash: string): ChainContext['head'] {
  const head = { seq, eventHash, sealedAt: now };
  return { ...head, keyId: key.keyId, signature: sign(headText(head)) };
}

function chainFrom(from: ChainEnd, count: number): { events: SealedEvent[]; end: ChainEnd } {
  const { events, checkpoints, end } = sealRun(from, Array.from({ length: count }, eventOf), {
    hash: eventHash,
    newId: randomUUID,
    keyId: key.keyId,
    sign,
    now,
  });
  return { events: [...events, ...checkpoints].sort((a, b) => a.seq - b.seq), end };
}

const eventOf = (): AuditEvent => ({
  id: randomUUID(),
  event_type: 'request.rejected',
  event_category: 'approval',
  event_version: 1,
  outcome: 'denied',
  actor_id: 'bruno',
  actor_type: 'user',
  resource_type: 'request',
  resource_id: randomUUID(),
  peer_ip: '10.0.0.4',
  client_ip: '198.51.100.7',
  client_ip_source: 'xff',
  request_id: randomUUID(),
  operation: 'execute_dml',
  database_name: 'orders',
  environment: 'production',
  detail_fingerprint: null,
  detail_raw: null,
  reason: 'zu groß 🚫',
  metadata_json: '{"step_number":1,"total_steps":2,"matched_selector":"group:payments-leads"}',
  prev_hash: null,
  created_at: now,
  event_hash: null,
  seq: null,
});
