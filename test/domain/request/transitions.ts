import type { AuditType } from '../../../domain/audit/catalogue.js';
import type { Status } from '../../../domain/request/types.js';

/** Section 7 of the request rules as edges between stored statuses; a status may also stay as it is. */
export const transitions = {
  pending: ['approved', 'rejected', 'expired', 'cancelled', 'failed'],
  approved: ['dispatched', 'expired', 'cancelled', 'failed', 'executed'],
  dispatched: ['running', 'approved', 'expired', 'cancelled', 'failed', 'executed'],
  running: ['executed', 'failed', 'execution_lost', 'cancelled'],
  executed: ['dispatched'],
  failed: ['dispatched'],
  rejected: [],
  cancelled: ['executed'],
  expired: [],
  execution_lost: ['dispatched', 'executed', 'failed', 'cancelled'],
} as const satisfies Record<Status, readonly Status[]>;

/** Where an event leads from: `auto` and `stopping` are passed within one transaction (ST-2, ST-3, ST-17). */
type Place = Status | 'start' | 'auto' | 'stopping';

/** The same section as a path of audit events (RQ-I1); an event that is not here cannot happen in that place. */
const paths: Record<Place, Partial<Record<AuditType, Place>>> = {
  start: { 'request.created': 'pending', 'request.auto_approved': 'auto', 'request.break_glass': 'auto' },
  auto: { 'request.dispatched': 'dispatched' },
  pending: {
    'step.approved': 'pending',
    'request.approved': 'approved',
    'request.rejected': 'rejected',
    'request.expired': 'expired',
    'request.cancelled': 'cancelled',
    'request.integrity_failed': 'failed',
  },
  approved: {
    'execution.completed': 'executed',
    'request.dispatched': 'dispatched',
    'request.expired': 'expired',
    'request.cancelled': 'cancelled',
    'request.integrity_failed': 'failed',
  },
  dispatched: {
    'execution.started': 'running',
    'execution.completed': 'executed',
    'request.dispatch_timeout': 'approved',
    'request.cancelled': 'cancelled',
    'request.integrity_failed': 'failed',
  },
  running: {
    'execution.completed': 'executed',
    'execution.failed': 'failed',
    'execution.lost': 'execution_lost',
    'execution.cancelled': 'stopping',
  },
  stopping: { 'request.cancelled': 'cancelled', 'execution.completed': 'executed' },
  executed: { 'request.dispatched': 'dispatched', 'request.integrity_failed': 'executed' },
  failed: { 'request.dispatched': 'dispatched', 'request.integrity_failed': 'failed' },
  rejected: {},
  cancelled: { 'execution.completed': 'executed' },
  expired: {},
  execution_lost: {
    'request.dispatched': 'dispatched',
    'execution.completed': 'executed',
    'execution.failed': 'failed',
    'execution.cancelled': 'stopping',
    'request.cancelled': 'cancelled',
    'execution.lost': 'execution_lost',
    'request.integrity_failed': 'execution_lost',
  },
};

const notes: ReadonlySet<AuditType> = new Set(['execution.late_result', 'execution.marker_mismatch']);

/** Follows events through section 7; undefined as soon as one does not fit. A note may come at any time. */
export function endOfPath(events: readonly AuditType[]): Place | undefined {
  let place: Place | undefined = 'start';
  for (const event of events) {
    if (notes.has(event) && place !== 'start') continue;
    place = paths[place][event];
    if (place === undefined) return undefined;
  }
  return place;
}
