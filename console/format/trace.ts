import type { Schema } from '../http/client.js';

type Trace = Schema['Request']['decision_trace'];

const reasons = {
  explicit_always: 'its workflow policy approves everything automatically',
  risk_below_threshold: 'its risk is low enough for automatic approval',
  risk_above_threshold: 'its risk is too high for automatic approval',
  risk_unavailable: 'its risk could not be assessed',
  rows_not_bounded: 'the number of rows it changes could not be limited',
  approval_requested: 'the requester asked for an approval',
  channel_not_allowed: 'the workflow policy approves nothing automatically that comes this way',
  no_auto_approve_rule: 'its workflow policy approves nothing automatically',
  break_glass: 'it is an emergency',
} as const satisfies Record<Trace['decision']['reasons'][number], string>;

/** Of a migration no risk is assessed, so its tables are not looked up. */
const schemas = {
  ready: [],
  unavailable: [],
  stale: ['What was known of the schema was too old.'],
  not_synced: ['No agent had read the schema yet.'],
} as const satisfies Record<Trace['risk']['schema_status'], readonly string[]>;

/** Why the request needed approval or not, as sentences (RQ-44). */
export function traceSentences(trace: Trace): string[] {
  const { decision, workflow, sql_review, risk } = trace;
  const why = decision.reasons.map((reason) => reasons[reason] ?? reason).join(', and ');
  const passed = decision.outcome === 'auto_approved';
  return [
    `It ${passed ? 'was approved automatically' : 'needs approval'}${why === '' ? '' : `, because ${why}`}.`,
    workflow.matched === null
      ? 'No workflow policy matched.'
      : `Workflow policy ${versioned(workflow.matched.id, workflow.matched)}.`,
    ...(sql_review.policy_id === null
      ? []
      : [`Review policy ${versioned(sql_review.policy_id, sql_review)}, ${found(sql_review.findings_count)}.`]),
    ...(decision.auto_approve_threshold === null
      ? []
      : [`Requests of at most ${decision.auto_approve_threshold} risk are approved automatically.`]),
    ...(schemas[risk.schema_status] ?? []),
  ];
}

const found = (count: number) =>
  count === 0 ? 'which found nothing' : `which found ${count === 1 ? 'one thing' : `${count} things`}`;

const versioned = (id: string, { revision, digest }: { revision?: string | null; digest?: string }) => {
  const version = [revision, digest].filter(Boolean).join(', ');
  return version === '' ? id : `${id} (${version})`;
};
