import { relative, shortDuration } from '../../lib/duration.js';
import type { JsonText } from '../../lib/json/read.js';
import type { Context } from '../context.js';
import { showValue } from '../output/details.js';
import { type Answer, listAnswer } from '../output/output.js';
import type { Style } from '../output/style.js';
import { renderTable } from '../output/table.js';

/** `svc agents`: the agents and their state. */
export async function listAgents(context: Context): Promise<Answer> {
  const reply = await context.client().call({ method: 'GET', path: ['api', 'agents'] });
  const { style } = context.output;
  const rows = (reply.json().get('agents')?.items() ?? []).map((agent) => rowOf(agent, style));
  const spare = ['VERSION', 'JOBS', 'LAST POLL'].map((name) => header.indexOf(name));
  const table = () => renderTable(header, rows, { style, whole: new Set([0]), spare });
  return listAnswer(reply.text, rows.length, 'agents', table);
}

const header = ['AGENT', 'STATUS', 'LAST POLL', 'JOBS', 'VERSION', 'DATABASES'];

function rowOf(agent: JsonText, style: Style): string[] {
  const text = (key: string) => showValue(agent.get(key));
  const lastSeen = text('last_seen_at');
  const scopes = agent.get('capabilities')?.get('scopes')?.items() ?? [];
  const pairs = scopes.map((scope) => `${showValue(scope.get('database'))}/${showValue(scope.get('environment'))}`);
  // Two processes with one token interfere with each other (AG-13).
  const doubled = text('duplicate_instances') === 'true' ? ', two instances' : '';
  // Its holder may serve every database (HD-10).
  const unscoped = text('unscoped') === 'true' ? ', unscoped token' : '';
  return [
    text('id'),
    `${text('status')}${doubled}${unscoped}`,
    lastSeen === '' ? 'never' : lastPoll(agent, lastSeen, style),
    lastSeen === '' ? '' : `${text('in_flight')}/${text('max_concurrent')}`,
    text('version'),
    pairs.join(', '),
  ];
}

/** On a terminal the time since then by the server's clock; elsewhere the instant, for scripts. */
function lastPoll(agent: JsonText, at: string, style: Style): string {
  const secs = Number(agent.get('last_poll_ago_secs')?.text);
  return style.isTerminal && Number.isFinite(secs) ? relative(-secs * 1000, shortDuration) : at;
}
