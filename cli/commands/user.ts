import type { JsonText } from '../../lib/json/read.js';
import { visible } from '../../lib/visible.js';
import type { Context } from '../context.js';
import { failure } from '../failure.js';
import { renderDetails, showValue } from '../output/details.js';
import { tableInstant } from '../output/instant.js';
import { type Answer, listAnswer } from '../output/output.js';
import { statusPainter } from '../output/style.js';
import { renderTable } from '../output/table.js';

export interface UserAddOptions {
  role?: string[];
  group?: string[];
}

/** `svc user add ID`: only the initial token on stdout, its user on stderr; the token is shown only once (CL-02). */
export async function addUser(context: Context, args: readonly string[], options: UserAddOptions): Promise<Answer> {
  const body = { id: args[0]!, roles: options.role ?? [], groups: options.group ?? [] };
  const reply = await context.client().call({ method: 'POST', path: ['api', 'users'], body: JSON.stringify(body) });
  const answer = reply.json();
  const token = answer.get('token')?.string();
  if (token == null) throw failure('server_error', `user add: the server answered ${reply.status} without a token`);
  return {
    data: reply.text,
    human: () => `${visible(token)}\n`,
    note: `${renderDetails(
      reply.json(),
      [
        ['user', 'id'],
        ['roles', 'roles'],
        ['groups', 'groups'],
      ],
      context.output.noteStyle,
    )}Keep the token now: it is not shown again.${hasRole(answer) ? '' : noRole(args[0]!)}`,
  };
}

const hasRole = (user: JsonText) => (user.get('roles')?.items().length ?? 0) > 0;

/** A token never has more roles than its user had when it was made. */
const noRole = (id: string) => `
${visible(id)} has no role yet, so this token can do nothing, and it gains no role later. Give a role, then a new token:
  svc user update ${visible(id)} --add-role requester
  svc user reissue-initial-token ${visible(id)}`;

/** `svc user list`, newest first. */
export async function listUsers(context: Context): Promise<Answer> {
  const reply = await context.client().call({ method: 'GET', path: ['api', 'users'] });
  const users = reply.json().get('users')?.items() ?? [];
  const { style } = context.output;
  // Only logins at an identity provider are remembered.
  const isSeen = users.some((user) => user.get('last_seen_at')?.kind === 'string');
  const columns = ['id', 'status', 'roles', 'groups', 'source', ...(isSeen ? ['last_seen_at'] : []), 'created_at'];
  const header = columns.map((key) => key.replace(/_at$/, '').replace('_', ' ').toUpperCase());
  const rows = users.map((user) => columns.map((key) => tableInstant(showValue(user.get(key)), style)));
  const table = () =>
    renderTable(header, rows, {
      style,
      whole: new Set([0]),
      paintCell: statusPainter(style, rows, 1),
    });
  return listAnswer(reply.text, users.length, 'users', table);
}

export async function showUser(context: Context, args: readonly string[]): Promise<Answer> {
  const reply = await context.client().call({ method: 'GET', path: ['api', 'users', args[0]!] });
  return { data: reply.text, human: () => renderDetails(reply.json(), userRows, context.output.style) };
}

const userRows = [
  ['id', 'id'],
  ['status', 'status'],
  ['name', 'display_name'],
  ['email', 'email'],
  ['roles', 'roles'],
  ['groups', 'groups'],
  ['source', 'source'],
  ['slack', 'slack_user_id'],
  ['last seen', 'last_seen_at'],
  ['created', 'created_at'],
  ['updated', 'updated_at'],
] as const;
