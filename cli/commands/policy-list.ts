import type { JsonText } from '../../lib/json/read.js';
import { objectText } from '../../lib/json/write.js';
import { visible } from '../../lib/visible.js';
import type { Context } from '../context.js';
import { showValue } from '../output/details.js';
import { type Answer, listAnswer } from '../output/output.js';
import { approverSteps, autoApproval } from '../output/policy-parts.js';
import { renderTable } from '../output/table.js';
import { type PolicyKind, policyKinds } from '../policy-kinds.js';

export interface PolicyListOptions {
  kind?: PolicyKind;
}

interface List {
  path: string;
  /** The list's key in the answer. */
  key: string;
  header: string[];
  row(item: JsonText): string[];
}

const values = (item: JsonText, ...keys: string[]) => keys.map((key) => showValue(item.get(key)));

const lists: Record<PolicyKind, List> = {
  workflow: {
    path: 'workflows',
    key: 'workflows',
    header: ['OPERATIONS', 'AUTO-APPROVAL', 'STEPS', 'ID'],
    row: (item) => [
      showValue(item.get('operations')) || 'all',
      autoApproval(item.get('auto_approve')),
      approverSteps(item.get('steps')).join(', then '),
      ...values(item, 'id'),
    ],
  },
  execution: {
    path: 'execution-policies',
    key: 'execution_policies',
    header: ['RUNS', 'WITHIN (S)', 'RETRY', 'TIMEOUT (S)', 'AT MOST (S)', 'ROWS'],
    row: (item) =>
      values(
        item,
        'max_executions',
        'execution_window_secs',
        'retry_on_failure',
        'statement_timeout_secs',
        'max_statement_timeout_secs',
        'max_rows',
      ),
  },
  result: {
    path: 'result-policies',
    key: 'result_policies',
    header: ['DAYS', 'DELIVERY', 'ACCESS'],
    row: (item) => values(item, 'retention_days', 'delivery_mode', 'access'),
  },
  'sql-review': {
    path: 'sql-review-policies',
    key: 'sql_review_policies',
    header: ['SOURCE', 'BLOCKS', 'WARNS'],
    row: (item) => [...values(item, 'source'), rulesThat(item, 'block'), rulesThat(item, 'warn')],
  },
  notification: {
    path: 'notification-policies',
    key: 'notification_policies',
    header: ['WEBHOOKS', 'EVENTS', 'SLACK CHANNELS'],
    row: (item) => values(item, 'webhooks', 'events', 'slack_channels'),
  },
};

/** `svc policy list`: the policies of one kind, or of all. */
export async function listPolicies(context: Context, _: readonly string[], { kind }: PolicyListOptions): Promise<Answer> {
  const wanted = (kind === undefined ? policyKinds : [kind]).map((name) => lists[name]);
  const read = (list: List) => context.client().call({ method: 'GET', path: ['api', list.path] });
  const replies = await Promise.all(wanted.map(read));
  const found = wanted.map((list, index) => ({ list, items: replies[index]?.json().get(list.key) }));
  const all = () => Object.fromEntries(found.map(({ list, items }) => [list.key, items?.text ?? '[]']));
  const shown = found.filter(({ items }) => (items?.items().length ?? 0) > 0);
  const data = kind === undefined ? objectText({}, all()) : replies[0]!.text;
  return listAnswer(data, shown.length, 'policies', () =>
    shown.map(({ list, items }) => tableOf(context, list, items?.items() ?? [], kind === undefined)).join('\n'),
  );
}

function tableOf(context: Context, { key, header, row }: List, items: readonly JsonText[], titled: boolean): string {
  const { style } = context.output;
  const rows = items.map((item) => [
    ...values(item, 'database', 'environment'),
    ...row(item),
    ...values(item, 'revision', 'digest'),
  ]);
  const columns = ['DATABASE', 'ENVIRONMENT', ...header, 'REVISION', 'DIGEST'];
  const spare = ['DIGEST', 'REVISION', 'ID'].map((name) => columns.indexOf(name));
  const table = renderTable(columns, rows, { style, spare });
  return titled ? `${style.bold(key.replaceAll('_', ' '))}\n${table}` : table;
}

function rulesThat(policy: JsonText, action: string): string {
  const rules = policy.get('rules')?.entries() ?? [];
  return rules.flatMap(([rule, value]) => (value.string() === action ? [visible(rule)] : [])).join(', ');
}
