import type { JsonText } from '../../lib/json/read.js';
import { visible } from '../../lib/visible.js';
import type { Context } from '../context.js';
import { renderDetails, showValue } from '../output/details.js';
import type { Answer } from '../output/output.js';
import { approverSteps, autoApproval } from '../output/policy-parts.js';
import { renderTable } from '../output/table.js';

export interface PolicyResolveOptions {
  operation?: string;
}

/** `svc policy resolve DB ENV`: the policies that apply to a request now, for one operation or all. */
export async function resolvePolicies(context: Context, args: readonly string[], options: PolicyResolveOptions): Promise<Answer> {
  const [database, environment] = args;
  const query = { database, environment, operation: options.operation };
  const reply = await context.client().call({ method: 'GET', path: ['api', 'policy-resolution'], query });
  const answer = reply.json();
  const registered = answer.get('registered')?.text === 'true';
  return {
    data: reply.text,
    human: () => (registered ? page(context, answer) : ''),
    ...(registered ? {} : { note: `${visible(`${database}/${environment}`)} is not registered: requests on it are refused` }),
  };
}

function page(context: Context, answer: JsonText): string {
  const { style } = context.output;
  const resolutions = answer.get('resolutions')?.items();
  const decision = resolutions === undefined ? oneOperation(answer) : '';
  const table = resolutions === undefined ? '' : `${operationsTable(context, resolutions)}\n`;
  const policies = policyParts.map(([title, key, rows]) => {
    const policy = answer.get(key);
    return policy === undefined ? '' : `${style.bold(title)}\n${renderDetails(policy, rows, style)}`;
  });
  return `${decision}${table}${policies.join('')}`;
}

function oneOperation(answer: JsonText): string {
  const workflow = answer.get('workflow');
  const lines = [
    `${showValue(answer.get('operation'))}: ${decisionOf(answer)} (${showValue(answer.get('reason_code'))})`,
    `workflow       ${showValue(workflow?.get('id')) || 'none'} ${showValue(workflow?.get('matched_by'))}`.trimEnd(),
    `auto-approval  ${autoApproval(answer.get('auto_approve'))}`,
    ...approverSteps(workflow?.get('steps')).map((step, index) => `step ${index + 1}         ${step}`),
    ...(workflow?.get('require_reason')?.text === 'true' ? ['needs a reason'] : []),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

function operationsTable(context: Context, resolutions: readonly JsonText[]): string {
  const rows = resolutions.map((row) => [
    showValue(row.get('operation')),
    decisionOf(row),
    autoApproval(row.get('auto_approve')),
    showValue(row.get('workflow_id')),
    showValue(row.get('matched_by')),
  ]);
  const header = ['OPERATION', 'DECISION', 'AUTO-APPROVAL', 'WORKFLOW', 'MATCHED BY'];
  return renderTable(header, rows, { style: context.output.style });
}

const decisionOf = (row: JsonText) => showValue(row.get('decision_preview')).replaceAll('_', ' ');

const policyParts = [
  [
    'execution policy',
    'execution_policy',
    [
      ['matched by', 'matched_by'],
      ['runs at most', 'max_executions'],
      ['in seconds', 'execution_window_secs'],
      ['retry', 'retry_on_failure'],
      ['timeout (s)', 'statement_timeout_secs'],
      ['longest (s)', 'max_statement_timeout_secs'],
      ['rows at most', 'max_rows'],
    ],
  ],
  [
    'review policy',
    'sql_review_policy',
    [
      ['id', 'id'],
      ['source', 'source'],
    ],
  ],
  [
    'result policy',
    'result_policy',
    [
      ['id', 'id'],
      ['days kept', 'retention_days'],
      ['delivery', 'delivery_mode'],
    ],
  ],
] as const;
