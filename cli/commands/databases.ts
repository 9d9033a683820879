import type { Context } from '../context.js';
import { showValue } from '../output/details.js';
import { type Answer, listAnswer } from '../output/output.js';
import { renderTable } from '../output/table.js';

/** `svc databases`: the registered databases that the caller may view. */
export async function listDatabases(context: Context): Promise<Answer> {
  const reply = await context.client().call({ method: 'GET', path: ['api', 'databases'] });
  const pairs = reply.json().get('databases')?.items() ?? [];
  const rows = pairs.map((pair) => ['database', 'environment', 'dialect'].map((key) => showValue(pair.get(key))));
  const table = () => renderTable(['DATABASE', 'ENVIRONMENT', 'DIALECT'], rows, { style: context.output.style });
  return listAnswer(reply.text, rows.length, 'databases', table);
}
