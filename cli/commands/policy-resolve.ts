import type { JsonText } from '../../lib/json/read.js';
import { visible } from '../../lib/visible.js';
import type { Context } from '../context.js';
import { showValue } from '../output/details.js';
import type { Answer } from '../output/output.js';
import { approverSteps, decisionText, executionLines, resultLines, reviewLines, writtenPair } from '../output/policy-parts.js';
import { renderSections } from '../output/sections.js';
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
  const pair = visible(`${database}/${environment}`);
  return {
    data: reply.text,
    human: () => (registered ? page(context, pair, answer) : ''),
    ...(registered ? {} : { note: `${pair} is not registered: requests on it are refused` }),
  };
}

function page(context: Context, pair: string, answer: JsonText): string {
  const { style } = context.output;
  const resolutions = answer.get('resolutions')?.items();
  const first =
    resolutions === undefined
      ? `${showValue(answer.get('operation'))} on ${pair}: ${decisionText(answer)}\n`
      : operationsTable(context, resolutions);
  const sections = [
    ['Workflow', workflowLines(answer.get('workflow'))],
    ['Execution', executionLines(answer.get('execution_policy'))],
    ['SQL review', reviewLines(answer.get('sql_review_policy'))],
    ['Results', resultLines(answer.get('result_policy'))],
  ] as const;
  return `${first}\n${renderSections(sections, style)}`;
}

function workflowLines(workflow: JsonText | undefined): string[] {
  if (workflow?.kind !== 'object') return [];
  return [
    `policy   ${showValue(workflow.get('id'))}, for ${writtenPair(workflow.get('matched_by'))}`,
    ...approverSteps(workflow.get('steps')).map((step, index) => `step ${index + 1}   ${step}`),
    ...(workflow.get('require_reason')?.text === 'true' ? ['reason   required'] : []),
  ];
}

function operationsTable(context: Context, resolutions: readonly JsonText[]): string {
  const rows = resolutions.map((row) => [
    showValue(row.get('operation')),
    decisionText(row),
    showValue(row.get('workflow_id')),
    writtenPair(row.get('matched_by')),
  ]);
  return renderTable(['OPERATION', 'DECISION', 'WORKFLOW', 'FOR'], rows, {
    style: context.output.style,
    whole: new Set([1, 2]),
    spare: [3, 2],
  });
}
