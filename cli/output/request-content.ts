import { mcpClientOf } from '../../domain/request/mcp-client.js';
import type { JsonText } from '../../lib/json/read.js';
import { visible } from '../../lib/visible.js';
import { readApplied } from './applied.js';
import { showValue } from './details.js';
import { migrationDetailLines } from './migration-detail.js';
import type { Output } from './output.js';
import { contextLines } from './request-parts.js';
import { highlightSql } from './sql.js';
import type { Style } from './style.js';

/** The text of a request under its title: the SQL, or the files of a migration, of which `isFull` shows the applied ones too. */
export function contentSection(
  request: JsonText,
  { pasteable }: Pick<Output, 'pasteable'>,
  style: Style,
  isFull = false,
): [string, string[]] {
  const detail = request.get('detail')?.string() ?? '';
  const hint = `${pasteable(`svc request show ${visible(request.get('id')?.string() ?? '')} --full`)} shows their SQL`;
  const folding = { applied: isFull ? null : readApplied(request), hint };
  const migrations = migrationDetailLines(request.get('operation')?.string() ?? '', detail, folding, style);
  return migrations === null ? ['SQL', highlightSql(detail, style).split('\n')] : ['Migrations', migrations];
}

/** What somebody is about to decide on: who asked, where, why, who else gets its result, the whole text, and what the review found. */
export function decidedText(request: JsonText, output: Pick<Output, 'pasteable' | 'noteStyle'>): string {
  const style = output.noteStyle;
  const text = (key: string) => visible(request.get(key)?.string() ?? '');
  const [, content] = contentSection(request, output, style);
  const context = request.get('context');
  const where = style.bold(`${text('database')}/${text('environment')}`);
  const shared = showValue(request.get('share_with'));
  const emergency = request.get('emergency')?.text === 'true' ? style.red(', an emergency') : '';
  return [
    `request ${text('id')}`,
    `${text('operation')} on ${where} for ${style.bold(text('requester'))}${emergency}, ${text('status')}`,
    ...(text('reason') === '' ? [] : [`reason   ${text('reason')}`]),
    ...(askedBy(request) === '' ? [] : [`asked by ${askedBy(request)}`]),
    ...(shared === '' ? [] : [`shared   with ${shared}`]),
    ...contextLines(context, style),
    ...(context?.get('status')?.string() === 'collecting' ? ['plan     not there yet'] : []),
    '',
    ...content.map((line) => `  ${line}`.trimEnd()),
    '',
  ].join('\n');
}

/** The MCP client that the requester used, by its own word (MC-44). */
export function askedBy(request: JsonText): string {
  const client = mcpClientOf(request.get('metadata')?.text ?? '{}');
  return client === null ? '' : `an MCP client: ${visible(client)}`;
}
