import type { Evidence } from './document.js';
import { type Fault, fault } from './fault.js';
import type { EvidenceTools, LogState } from './tools.js';

/** The checkpoint, if one of these keys has signed it. */
export function openedCheckpoint(
  { checkpoint }: Pick<Evidence, 'checkpoint'>,
  publicKeys: readonly string[],
  tools: EvidenceTools,
): LogState | null {
  for (const publicKey of publicKeys) {
    const opened = tools.openCheckpoint(checkpoint, publicKey);
    if (opened !== null) return opened;
  }
  return null;
}

/** Each event is in the log of the checkpoint, is about this request, and comes after the one before it. */
export function logFault({ events, request }: Evidence, log: LogState, tools: EvidenceTools): Fault | null {
  let before: Evidence['events'][number]['event'] | null = null;
  const ids = new Set<string>();
  for (const { event, proof } of events) {
    const name = `event ${event.seq} (${event.event_type})`;
    if (tools.eventHash(event) !== event.event_hash) return fault('event_hash_mismatch', `${name} is not what was hashed`);
    if (tools.rootByProof(event.event_hash, event.seq, log.size, proof) !== log.root)
      return fault('event_not_in_log', `${name} is not in the log of the checkpoint`);
    if (event.request_id !== request.id || !isOfPair(event, request))
      return fault('event_foreign', `${name} is not about request ${request.id}`);
    if (ids.has(event.id) || (before !== null && event.seq <= before.seq))
      return fault('event_order', `${name} does not come after the one before it`);
    if (before !== null && event.seq === before.seq + 1 && event.prev_hash !== before.event_hash)
      return fault('event_order', `${name} does not follow the event before it in the chain`);
    ids.add(event.id);
    before = event;
  }
  return events.length === 0 ? fault('event_order', 'there are no events') : null;
}

const isOfPair = (event: Evidence['events'][number]['event'], request: Evidence['request']) =>
  event.database_name === request.database && event.environment === request.environment && event.operation === request.operation;
