import { type AuditOutcome, auditCategory } from './draft.js';

/** Every type of event. The checkpoints of the log itself have no draft. */
export const eventTypes: readonly string[] = [...Object.keys(auditCategory), 'audit.signed_checkpoint'].toSorted();
export const eventCategories: readonly string[] = [...new Set(Object.values(auditCategory))].toSorted();
export const eventOutcomes: readonly AuditOutcome[] = ['success', 'denied', 'failure', 'info'];
