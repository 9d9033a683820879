/** The catalogue of NT-1. */
const EVENTS = [
  'request.created',
  'request.auto_approved',
  'request.break_glass',
  'request.dispatched',
  'step.approved',
  'request.approved',
  'request.rejected',
  'request.cancelled',
  'request.expired',
  'request.dispatch_timeout',
  'request.integrity_failed',
  'execution.started',
  'execution.failed',
  'execution.cancelled',
  'execution.completed',
  'execution.lost',
  'user.created',
  'user.updated',
  'user.deleted',
  'user.suspended',
  'user.activated',
  'license_grace_warning',
  'license_downgraded',
  'webhook.test',
] as const;

/** Whether a subscription entry (a name, `*` or `prefix.*`) matches any event (NT-10). */
export function matchesEvent(entry: string): boolean {
  if (entry === '*') return true;
  const prefix = entry.endsWith('.*') ? entry.slice(0, -1) : null;
  return EVENTS.some((event) => (prefix === null ? event === entry : event.startsWith(prefix)));
}
