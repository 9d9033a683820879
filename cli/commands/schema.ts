import type { JsonText } from '../../lib/json/read.js';
import { visible } from '../../lib/visible.js';
import { databaseName } from '../config/target.js';
import type { Context } from '../context.js';
import { showInstant } from '../output/instant.js';
import { count, digits } from '../output/numbers.js';
import type { Answer } from '../output/output.js';
import { headLine, tablePage } from '../output/schema-parts.js';
import { renderTable } from '../output/table.js';

export interface SchemaOptions {
  table?: string;
  full?: boolean;
}

/**
 * `svc schema`: tables and their sizes, one table, or all in full. The server chooses the environment when none is given (SC-1).
 */
export async function showSchema(context: Context, _: readonly string[], options: SchemaOptions): Promise<Answer> {
  const layers = context.layers();
  tellEnvironment(context);
  const reply = await context.client().call({
    method: 'GET',
    path: ['api', 'schemas', databaseName(layers, context.options)],
    query: {
      environment: context.options.environment ?? layers.find('default_environment')?.text,
      table: options.table,
      summary: options.full ? false : undefined,
    },
  });
  const answer = reply.json();
  warnOfAge(context, answer);
  const { style } = context.output;
  const table = answer.get('table');
  const tables = table ? [table] : (answer.get('tables')?.items() ?? []);
  const inFull = table !== undefined || options.full === true;
  const human = () => (inFull ? tables.map((one) => tablePage(one, style)).join('\n') : summary(context, tables));
  return { data: reply.text, human, note: headLine(answer, tables.length, context.output.noteStyle) };
}

/** Who names no environment may have meant another than the one shown. */
function tellEnvironment({ options, layers, output }: Context): void {
  if (options.environment !== undefined) return;
  const found = layers().find('default_environment');
  const chosen = found === undefined ? 'chosen by the server' : `${visible(found.text)}, from ${visible(found.where)}`;
  output.note(output.noteStyle.dim(`environment: ${chosen}; choose another with -e`));
}

/** Shows the last good snapshot, which a later sync may have failed to replace (SC-2). */
function warnOfAge(context: Context, answer: JsonText): void {
  const status = answer.get('status')?.string() ?? '';
  if (status === 'ready') return;
  const why = answer.get('error_message')?.string();
  const since = showInstant(answer.get('collected_at')?.string() ?? '');
  context.output.warn(
    `the last sync ${status === 'partial' ? 'was partial' : 'failed'}${why ? ` (${why})` : ''}; this is the schema of ${since}`,
  );
}

function summary(context: Context, tables: readonly JsonText[]): string {
  if (tables.length === 0) return '';
  const text = (table: JsonText, key: string) => visible(table.get(key)?.string() ?? '');
  const rows = tables.map((table) => [
    text(table, 'schema_name'),
    text(table, 'name'),
    count(table.get('estimated_rows')),
    ...['column_count', 'constraint_count', 'index_count'].map((key) => digits(table.get(key)) ?? ''),
  ]);
  return renderTable(['SCHEMA', 'TABLE', 'ROWS (ABOUT)', 'COLUMNS', 'CONSTRAINTS', 'INDEXES'], rows, {
    rightAligned: new Set([2, 3, 4, 5]),
    style: context.output.style,
  });
}
