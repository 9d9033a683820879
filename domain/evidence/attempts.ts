import { objectOf } from '../audit/checkpoint.js';
import type { SealedEvent } from '../audit/event.js';
import type { Attempt, Evidence } from './document.js';
import { type Fault, fault } from './fault.js';

const ends = new Set([
  'execution.completed',
  'execution.failed',
  'execution.cancelled',
  'execution.lost',
  'execution.late_result',
]);

/** The attempts are those of the log: each was started once, by its agent, and ended as the log says. */
export function attemptFault({ attempts, events }: Evidence): Fault | null {
  const log = events.map(({ event }) => event);
  const started = log.filter(({ event_type: type }) => type === 'execution.started');
  if (started.length !== attempts.length)
    return fault('attempt_mismatch', `there are ${attempts.length} attempts, but the log has ${started.length}`);
  for (const [at, attempt] of attempts.entries()) {
    const start = started[at] as SealedEvent;
    const { fence, agent_id: agent } = objectOf(start.metadata_json);
    if (start.resource_id !== attempt.execution_id || fence !== attempt.fence || agent !== attempt.agent_id)
      return fault('attempt_mismatch', `the log has another attempt ${attempt.fence}`);
    const wrong = endFault(attempt, log);
    if (wrong !== null) return fault('attempt_mismatch', `attempt ${attempt.fence} ${wrong}`);
  }
  return strangerFault(attempts, log);
}

function endFault(attempt: Attempt, log: readonly SealedEvent[]): string | null {
  const ended = log.filter(({ event_type: type, resource_id: id }) => ends.has(type) && id === attempt.execution_id);
  const status =
    ended.length === 0
      ? 'running'
      : ended.some(({ event_type: type }) => type === 'execution.completed')
        ? 'completed'
        : 'failed';
  if (attempt.status !== status) return `is ${attempt.status}, but ${status} by the log`;
  const outcome = ended.map(outcomeOf).findLast((each) => each !== null) ?? null;
  return attempt.outcome === outcome ? null : `ended ${attempt.outcome}, but ${outcome} by the log`;
}

function outcomeOf({ event_type: type, metadata_json: metadata }: SealedEvent): string | null {
  const { outcome, cause } = objectOf(metadata);
  if (type === 'execution.lost') return cause === 'unknown' ? 'unknown' : null;
  return typeof outcome === 'string' ? outcome : null;
}

/** An event of an execution that is no attempt of this request, or has another fence than it. */
function strangerFault(attempts: readonly Attempt[], log: readonly SealedEvent[]): Fault | null {
  const stranger = log.find(({ event_type: type, resource_id: id, metadata_json: metadata }) => {
    if (!ends.has(type) && type !== 'execution.marker_mismatch') return false;
    return attempts.find((each) => each.execution_id === id)?.fence !== objectOf(metadata).fence;
  });
  return stranger === undefined ? null : fault('attempt_mismatch', `event ${stranger.seq} is of no attempt of this request`);
}
