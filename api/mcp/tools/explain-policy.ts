import type { z } from 'zod';
import type { AutoApprovalReason } from '../../../domain/workflow-policy.js';
import { resolution } from '../../policies/schemas.js';
import { ask } from '../ask.js';
import { type ShownRequest, show } from './follow.js';
import { databaseOf, environmentOf, maybeText, reads, type Tool, text, textArgument } from './tool.js';

export const explainPolicy: Tool = {
  name: 'svc_explain_policy_failure',
  description:
    'Explain why a request had to wait for approval or was approved automatically (give request_id), or what the policies of a database, environment and operation decide before anything is sent (leave it out). ' +
    'To check one SQL text use svc_preflight_sql.',
  annotations: reads,
  inputSchema: {
    type: 'object',
    properties: {
      request_id: text,
      operation: { type: 'string', description: 'execute_select, execute_dml, migrate_up, …; default execute_dml' },
      database: text,
      environment: text,
    },
  },
  outputSchema: {
    type: 'object',
    properties: {
      request_id: maybeText,
      decision_trace: { type: ['object', 'null'] },
      policy: { type: ['object', 'null'], description: 'as in policy resolution' },
      explanation: text,
    },
    required: ['explanation'],
  },
  async run(context, args) {
    const id = textArgument(args, 'request_id');
    if (id !== undefined) {
      const request = await show(context, id);
      const { decision_trace } = request;
      return { structured: { request_id: request.id, decision_trace, policy: null, explanation: whyOf(request) } };
    }
    const operation = textArgument(args, 'operation') ?? 'execute_dml';
    const query = { database: databaseOf(context, args), environment: environmentOf(context, args), operation };
    const policy = await ask(context, 'resolvePolicies', { query }, resolution);
    return { structured: { request_id: null, decision_trace: null, policy, explanation: previewOf(policy) } };
  },
};

const reasons = {
  explicit_always: 'its workflow approves everything automatically',
  risk_below_threshold: 'its risk is within what the workflow approves automatically',
  risk_above_threshold: 'its risk is above what the workflow approves automatically',
  risk_unavailable: 'its risk could not be assessed, for example because there is no schema snapshot',
  rows_not_bounded: 'no agent can limit how many rows it changes',
  approval_requested: 'the requester asked for approval',
  channel_not_allowed: 'the workflow approves nothing automatically that comes this way',
  no_auto_approve_rule: 'its workflow approves nothing automatically',
  break_glass: 'it was an emergency',
} as const satisfies Record<AutoApprovalReason, string>;

function whyOf({ decision_trace: trace }: ShownRequest): string {
  const known: Record<string, string> = reasons;
  const why = trace.decision.reasons.map((reason) => known[reason] ?? reason).join('; ');
  const factors = trace.risk.factors.length === 0 ? '' : ` Its risk is ${trace.risk.level}: ${trace.risk.factors.join(', ')}.`;
  const outcome = trace.decision.outcome === 'auto_approved' ? 'It was approved automatically' : 'It needs approval';
  return `${outcome}, because ${why}.${factors}`;
}

const previews = {
  db_not_registered: 'The gateway takes no requests for this database and environment: they are not registered together.',
  no_matching_workflow: 'No workflow matches, so such a request is refused.',
  channel_not_allowed:
    'The workflow approves nothing automatically that comes this way: such a request waits for its approval steps, and is refused where it has none.',
  explicit_always: 'Such a request is approved automatically.',
  risk_unknown_until_analyzed:
    'Such a request is approved automatically if its risk is low enough; svc_preflight_sql checks the SQL.',
  no_auto_approve: 'Such a request always needs approval.',
  emergency_required: 'Such a request is possible only as an emergency, which cannot be made through MCP.',
} as const satisfies Record<NonNullable<z.output<typeof resolution>['reason_code']>, string>;

function previewOf({ reason_code: code, workflow }: z.output<typeof resolution>): string {
  const sentence = code === undefined ? 'Nothing is decided.' : previews[code];
  return workflow?.require_reason === true ? `${sentence} It must have a reason.` : sentence;
}
