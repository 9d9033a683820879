import type { JsonText } from '../../lib/json/read.js';
import type { Context } from '../context.js';
import { showValue } from '../output/details.js';
import type { Answer } from '../output/output.js';
import { renderTable } from '../output/table.js';

/** `svc agents`: the agents and their state. */
export async function listAgents(context: Context): Promise<Answer> {
  const reply = await context.client().call({ method: 'GET', path: ['api', 'agents'] });
  const rows = (reply.json().get('agents')?.items() ?? []).map(rowOf);
  const table = () => renderTable(header, rows, { style: context.output.style });
  return {
    data: reply.text,
    human: () => (rows.length === 0 ? '' : table()),
    ...(rows.length === 0 ? { note: 'no agents' } : {}),
  };
}

const header = ['AGENT', 'STATUS', 'LAST POLL', 'JOBS', 'VERSION', 'DATABASES'];

function rowOf(agent: JsonText): string[] {
  const text = (key: string) => showValue(agent.get(key));
  const seen = showValue(agent.get('last_seen_at')) !== '';
  const scopes = agent.get('capabilities')?.get('scopes')?.items() ?? [];
  const pairs = scopes.map((scope) => `${showValue(scope.get('database'))}/${showValue(scope.get('environment'))}`);
  // Two processes with one token interfere with each other (AG-13).
  const doubled = text('duplicate_instances') === 'true' ? ', two instances' : '';
  // Its holder may serve every database (HD-10).
  const unscoped = text('unscoped') === 'true' ? ', unscoped token' : '';
  return [
    text('id'),
    `${text('status')}${doubled}${unscoped}`,
    seen ? `${text('last_poll_ago_secs')}s ago` : 'never',
    seen ? `${text('in_flight')}/${text('max_concurrent')}` : '',
    text('version'),
    pairs.join(', '),
  ];
}
