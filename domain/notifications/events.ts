interface Facts {
  /** It has a request, a database and an environment. */
  request: boolean;
  /** Slack channels get it (NT-15, SL-50). */
  slack: boolean;
  /** It is a step of the approval, so a message says which step of how many. */
  approval: boolean;
}

const decision = { request: true, slack: true, approval: true } as const;
const progress = { request: true, slack: true, approval: false } as const;
const aside = { request: false, slack: false, approval: false } as const;

/** The catalogue of NT-1. Those of requests and users bear the name of their audit event. */
export const notificationEvents = {
  'request.created': decision,
  'request.auto_approved': progress,
  'request.break_glass': progress,
  'request.dispatched': progress,
  'step.approved': decision,
  'request.approved': decision,
  'request.rejected': decision,
  'request.cancelled': progress,
  'request.expired': progress,
  'request.dispatch_timeout': progress,
  'request.integrity_failed': progress,
  'execution.started': { ...progress, slack: false },
  'execution.failed': progress,
  'execution.cancelled': progress,
  'execution.completed': progress,
  'execution.lost': progress,
  'user.created': aside,
  'user.updated': aside,
  'user.deleted': aside,
  'user.suspended': aside,
  'user.activated': aside,
  license_grace_warning: aside,
  license_downgraded: aside,
  'webhook.test': aside,
} as const satisfies Record<string, Facts>;

export type NotificationEvent = keyof typeof notificationEvents;

const creations: ReadonlySet<NotificationEvent> = new Set(['request.created', 'request.auto_approved', 'request.break_glass']);

export const isCreation = (event: NotificationEvent): boolean => creations.has(event);

export const isNotificationEvent = (name: string): name is NotificationEvent => Object.hasOwn(notificationEvents, name);

/** Whether an entry of a subscription list (a name, `*` or `prefix.*`) matches any event of the catalogue (NT-10). */
export function matchesEvent(entry: string): boolean {
  return entry === '*' || Object.keys(notificationEvents).some((event) => covers(entry, event));
}

/** Whether a webhook or policy with this list gets the event; an empty list subscribes to all (NT-10). A test is sent whatever the list says. */
export function isSubscribed(events: readonly string[], event: NotificationEvent): boolean {
  return event === 'webhook.test' || events.length === 0 || events.some((entry) => entry === '*' || covers(entry, event));
}

const covers = (entry: string, event: string) => (entry.endsWith('.*') ? event.startsWith(entry.slice(0, -1)) : entry === event);
