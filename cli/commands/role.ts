import type { JsonText } from '../../lib/json/read.js';
import { visible } from '../../lib/visible.js';
import type { Context } from '../context.js';
import { showValue } from '../output/details.js';
import type { Answer } from '../output/output.js';

/** `svc role list`: what each role permits and where; no table, because it would truncate the permissions. */
export async function listRoles(context: Context): Promise<Answer> {
  const reply = await context.client().call({ method: 'GET', path: ['api', 'roles'] });
  const roles = reply.json().get('roles')?.items() ?? [];
  return { data: reply.text, human: () => roles.map((role) => roleText(context, role)).join('\n') };
}

function roleText(context: Context, role: JsonText): string {
  const { style } = context.output;
  const kind = role.get('builtin')?.text === 'true' ? 'built-in' : 'custom';
  const permissions = (role.get('permissions')?.items() ?? []).map(permissionText);
  const lines = [
    `${style.bold(visible(role.get('name')?.string() ?? ''))}  ${style.dim(kind)}`,
    `  ${style.dim('on')} ${showValue(role.get('databases'))} / ${showValue(role.get('environments'))}`,
    ...linesOf(permissions, Math.min(100, style.columns - 2)).map((line) => `  ${line}`),
  ];
  return `${lines.join('\n')}\n`;
}

/** Joins texts on a line, and starts a new line when one would be too long. */
function linesOf(texts: readonly string[], width: number): string[] {
  const lines: string[] = [];
  for (const text of texts) {
    const last = lines.at(-1);
    if (last === undefined || last.length + text.length + 2 > width) lines.push(text);
    else lines[lines.length - 1] = `${last}, ${text}`;
  }
  return lines;
}

/** As written in `server.toml`. */
function permissionText(entry: JsonText): string {
  const perm = visible(entry.get('perm')?.string() ?? '');
  return entry.get('ownership')?.string() === 'any' && perm !== '*' ? `${perm}:any` : perm;
}
