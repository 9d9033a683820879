import type { AuditType } from '../audit/catalogue.js';
import { objectOf } from '../audit/checkpoint.js';
import type { SealedEvent } from '../audit/event.js';
import type { Status } from '../request/types.js';
import { type Fault, fault } from './fault.js';

/** Where the events lead to. `cancelling` stands between the two events of one move. */
interface At {
  status: Status | 'none' | 'passed' | 'cancelling';
  fence: number;
}

interface Step {
  from: readonly At['status'][];
  to?: At['status'];
  /** How the event's fence stands to that of the last dispatch; left out for an event without a fence. */
  fence?: 'next' | 'same' | 'older';
}

/** The events of requests. A type of another name that is about a request must be added here. */
type RequestEvent =
  | Exclude<Extract<AuditType, `request.${string}` | `step.${string}` | `execution.${string}`>, 'request.blocked_by_review'>
  | 'ddl.break_glass_bypass';

const isRequestEvent = (type: string): type is RequestEvent => Object.hasOwn(steps, type);

/** Where a request can be that was claimed before. */
const attempted = ['dispatched', 'running', 'approved', 'executed', 'failed', 'execution_lost', 'cancelled', 'expired'] as const;

/** The moves of the state table (requests.md section 7) by the events that they leave. */
const steps: Readonly<Record<RequestEvent, readonly Step[]>> = {
  'request.created': [{ from: ['none'], to: 'pending' }],
  'request.auto_approved': [{ from: ['none'], to: 'passed' }],
  'request.break_glass': [{ from: ['none'], to: 'passed' }],
  'ddl.break_glass_bypass': [{ from: ['dispatched'] }],
  'step.approved': [{ from: ['pending'] }],
  'request.approved': [{ from: ['pending'], to: 'approved' }],
  'request.rejected': [{ from: ['pending'], to: 'rejected' }],
  'request.expired': [{ from: ['pending', 'approved'], to: 'expired' }],
  'request.dispatched': [
    { from: ['passed', 'approved', 'executed', 'failed', 'execution_lost'], to: 'dispatched', fence: 'next' },
  ],
  'request.dispatch_timeout': [{ from: ['dispatched'], to: 'approved' }],
  'execution.started': [{ from: ['dispatched'], to: 'running', fence: 'same' }],
  'execution.completed': [
    { from: ['running', 'execution_lost', 'cancelled'], to: 'executed', fence: 'same' },
    { from: ['cancelled', 'approved', 'dispatched', 'execution_lost', 'cancelling'], to: 'executed', fence: 'older' },
  ],
  'execution.failed': [{ from: ['running', 'execution_lost'], to: 'failed', fence: 'same' }],
  'execution.lost': [{ from: ['running', 'execution_lost'], to: 'execution_lost', fence: 'same' }],
  'execution.cancelled': [{ from: ['running', 'execution_lost'], to: 'cancelling', fence: 'same' }],
  'request.cancelled': [{ from: ['pending', 'approved', 'dispatched', 'execution_lost', 'cancelling'], to: 'cancelled' }],
  'execution.late_result': [
    { from: attempted, fence: 'older' },
    { from: ['cancelled', 'executed'], fence: 'same' },
  ],
  // Written with a result, which may be late.
  'execution.marker_mismatch': [{ from: attempted }],
  'request.integrity_failed': [
    { from: ['pending', 'approved', 'dispatched'], to: 'failed' },
    { from: ['executed', 'failed', 'execution_lost'] },
  ],
};

/** Whether the events are a path of the state table, and where it ends. */
export function followPath(events: readonly SealedEvent[]): { status: string; fault: Fault | null } {
  let at: At = { status: 'none', fence: 0 };
  for (const event of events) {
    const next = move(at, event);
    if (next === null)
      return {
        status: at.status,
        fault: fault('order_not_allowed', `${name(event)} cannot follow when the request is ${at.status}`),
      };
    at = next;
  }
  return { status: at.status, fault: null };
}

/** Whether the events of a request can begin with this one. */
export const isFirst = (event: SealedEvent): boolean => move({ status: 'none', fence: 0 }, event) !== null;

function move(at: At, event: SealedEvent): At | null {
  const candidates = isRequestEvent(event.event_type) ? steps[event.event_type] : [];
  const fence = Number(objectOf(event.metadata_json).fence);
  const step = candidates.find((each) => each.from.includes(at.status) && fits(each, fence, at.fence));
  if (step === undefined) return null;
  return { status: step.to ?? at.status, fence: step.fence === 'next' ? fence : at.fence };
}

function fits({ fence: how }: Step, fence: number, last: number): boolean {
  if (how === undefined) return true;
  if (how === 'next') return fence === last + 1;
  return how === 'same' ? fence === last : fence >= 1 && fence < last;
}

const name = ({ event_type, seq }: SealedEvent) => `${event_type} (seq ${seq})`;
