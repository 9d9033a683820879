import type { Choice, FieldOf } from '../parts/fields.js';
import { operations } from './request-text.js';
import { statuses, statusShown } from './status.js';

/** Of the pairs that the caller may see. Lists also hold what was of others, so these are no closed list. */
export interface PairNames {
  database: readonly string[];
  environment: readonly string[];
}

export const asTheyAre = (values: readonly string[]) => values.map((value): Choice => [value, value]);

const flag = (name: string, label: string, word: string): FieldOf => ({
  name,
  label,
  isMany: true,
  choices: [['true', word]],
});

const pairFields = ({ database, environment }: PairNames): FieldOf[] => [
  { name: 'database', label: 'Database', suggested: database },
  { name: 'environment', label: 'Environment', suggested: environment },
];

/** The filters of `GET /api/requests`. */
export const requestFields = (names: PairNames): FieldOf[] => [
  { name: 'status', label: 'Status', choices: statuses.map((status) => [status, statusShown(status).word]) },
  { name: 'operation', label: 'Operation', choices: operations },
  ...pairFields(names),
  { name: 'user', label: 'Requester' },
  flag('pending_for_me', 'Waiting', 'only for me'),
  flag('decided_by_me', 'Decided', 'only by me'),
];

const instant = '2026-05-01T09:00:00Z';

/** The filters of `GET /api/audit/events`. */
export const auditFields = (names: PairNames): FieldOf[] => [
  { name: 'event_type', label: 'Event', choices: asTheyAre(eventTypes) },
  { name: 'event_category', label: 'Category', choices: asTheyAre(eventCategories) },
  { name: 'outcome', label: 'Outcome', choices: asTheyAre(['success', 'denied', 'failure', 'info']) },
  { name: 'operation', label: 'Operation', choices: operations },
  { name: 'actor_id', label: 'Actor' },
  { name: 'request_id', label: 'Request' },
  ...pairFields(names),
  { name: 'since', label: 'Since', placeholder: instant },
  { name: 'until', label: 'Until', placeholder: instant },
];

const eventCategories = ['agent', 'approval', 'auth', 'execution', 'identity', 'policy', 'preflight', 'request', 'token'];

/** By their first word. */
const events = {
  agent: 'registered',
  audit: 'exported purge_checkpoint signed_checkpoint',
  auth: 'failure login_success',
  config: 'rejected synced',
  ddl: 'break_glass_bypass',
  execution: 'cancelled completed failed late_result lost marker_mismatch started',
  group: 'member_added member_removed',
  onboarding: 'approved expired rejected requested',
  plan: 'changed',
  preflight: 'attempted',
  request:
    'approved auto_approved blocked_by_review break_glass cancelled created dispatch_timeout dispatched expired integrity_failed rejected',
  schema: 'snapshot_failed snapshot_updated',
  secret_key: 'adopted changed',
  signing_key: 'activated created retired revoked',
  step: 'approved',
  token: 'created delivery reissued_initial revoked scoped',
  user: 'activated created deleted suspended updated',
  webhook: 'redelivered',
};

const eventTypes = Object.entries(events).flatMap(([subject, verbs]) => verbs.split(' ').map((verb) => `${subject}.${verb}`));
