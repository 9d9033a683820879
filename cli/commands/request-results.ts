import { visible } from '../../lib/visible.js';
import type { Context } from '../context.js';
import { tableInstant } from '../output/instant.js';
import { type Answer, listAnswer } from '../output/output.js';
import { renderTable } from '../output/table.js';
import { shortIds } from '../request-id.js';

/** `svc request results`: the stored results that the caller may read, newest first. */
export async function listResults(context: Context, _: readonly string[], options: { limit?: number }): Promise<Answer> {
  const reply = await context.client().call({ method: 'GET', path: ['api', 'results'], query: { limit: options.limit } });
  const results = reply.json().get('results')?.items() ?? [];
  const ids = results.map((result) => result.get('request_id')?.string() ?? '');
  const shorten = shortIds(context, ids);
  const rows = results.map((result) => {
    const text = (key: string) => visible(result.get(key)?.string() ?? '');
    return [
      shorten(text('request_id')),
      text('execution_id'),
      `${text('database')}/${text('environment')}`,
      text('operation'),
      tableInstant(text('stored_at'), context.output.style),
      tableInstant(text('expires_at'), context.output.style),
      visible(result.get('content_length')?.text ?? ''),
    ];
  });
  const header = ['REQUEST', 'EXECUTION', 'DATABASE', 'OPERATION', 'STORED', 'KEPT UNTIL', 'BYTES'];
  const how = { rightAligned: new Set([6]), whole: new Set([0, 1]), spare: [1, 6], style: context.output.style };
  return listAnswer(reply.text, rows.length, 'stored results', () => renderTable(header, rows, how));
}
