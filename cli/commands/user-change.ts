import type { JsonText } from '../../lib/json/read.js';
import { visible } from '../../lib/visible.js';
import { requireConfirmation } from '../confirmation.js';
import type { Context } from '../context.js';
import { failure } from '../failure.js';
import { renderDetails } from '../output/details.js';
import type { Answer } from '../output/output.js';

export interface UserUpdateOptions {
  role?: string[];
  addRole?: string[];
  rmRole?: string[];
  addGroup?: string[];
  rmGroup?: string[];
  slackUserId?: string;
}

/** `svc user update ID` (CL-29); the server decides everything that depends on the user. */
export async function updateUser(context: Context, args: readonly string[], options: UserUpdateOptions): Promise<Answer> {
  const other = options.addRole !== undefined ? '--add-role' : '--rm-role';
  if (options.role !== undefined && (options.addRole !== undefined || options.rmRole !== undefined))
    throw failure('usage', `user update: --role and ${other} cannot be used together`);
  const body = {
    roles: options.role,
    add_roles: options.addRole,
    rm_roles: options.rmRole,
    add_groups: options.addGroup,
    rm_groups: options.rmGroup,
    slack_user_id: options.slackUserId,
  };
  if (Object.values(body).every((part) => part === undefined))
    throw failure('usage', 'user update: nothing to change is given', { hint: 'svc user update --help' });
  const call = { method: 'PATCH', path: ['api', 'users', args[0]!], body: JSON.stringify(body) } as const;
  const reply = await context.client().call(call);
  const answer = reply.json();
  return {
    data: reply.text,
    human: () => renderDetails(answer, updatedRows, context.output.style),
    note: answer.get('updated')?.text === 'false' ? 'nothing changed' : `updated${gains(options) ? tokensStay(args[0]!) : ''}`,
  };
}

const gains = ({ role, addRole, addGroup }: UserUpdateOptions) => [role, addRole, addGroup].some((names) => names !== undefined);

const tokensStay = (id: string) => `
Tokens that exist gain no role. For a new one: svc user reissue-initial-token ${visible(id)} (it ends the first one)`;

export async function suspendUser(context: Context, args: readonly string[]): Promise<Answer> {
  const reply = await context.client().call({ method: 'POST', path: ['api', 'users', args[0]!, 'suspend'] });
  return { data: reply.text, human: () => endedText(context, reply.json(), 'suspended') };
}

export async function activateUser(context: Context, args: readonly string[]): Promise<Answer> {
  const reply = await context.client().call({ method: 'POST', path: ['api', 'users', args[0]!, 'activate'] });
  return {
    data: reply.text,
    human: () => renderDetails(reply.json(), statusRows, context.output.style),
    note: `Revoked tokens stay revoked: svc user reissue-initial-token ${args[0]!}`,
  };
}

export async function removeUser(context: Context, args: readonly string[]): Promise<Answer> {
  const id = args[0]!;
  await requireConfirmation(context, `Delete the user ${id} for good?`, 'this cannot be undone');
  const reply = await context.client().call({ method: 'DELETE', path: ['api', 'users', id] });
  return { data: reply.text, human: () => endedText(context, reply.json(), 'deleted') };
}

/** `svc user reissue-initial-token ID`: only the token on stdout, when the server returns one. */
export async function reissueInitialToken(context: Context, args: readonly string[]): Promise<Answer> {
  const reply = await context.client().call({ method: 'POST', path: ['api', 'users', args[0]!, 'reissue-initial-token'] });
  const answer = reply.json();
  const token = answer.get('token')?.string() ?? null;
  const isTried = answer.get('delivery_status')?.string() !== 'not_configured';
  const rows = reissuedRows.filter(([, key]) => isTried || key !== 'delivery_status');
  const details = renderDetails(answer, rows, context.output.noteStyle);
  return {
    data: reply.text,
    human: () => (token === null ? '' : `${visible(token)}\n`),
    note: token === null ? details.trimEnd() : `${details}Keep the token now: it is not shown again.`,
  };
}

function endedText(context: Context, answer: JsonText, label: 'suspended' | 'deleted'): string {
  const requests = answer.get('cancelled_requests')?.items() ?? [];
  const rows = [
    [label, answer.get('id')?.string() ?? ''],
    ['revoked tokens', answer.get('revoked_tokens')?.text ?? ''],
    ['cancelled requests', String(requests.length)],
  ] as const;
  const shown = requests.slice(0, maxShown).map((id) => `  ${visible(id.string() ?? '')}\n`);
  const more = requests.length > maxShown ? [`  and ${requests.length - maxShown} more (--json has all)\n`] : [];
  const lines = rows.map(([name, value]) => `${context.output.style.dim(name.padEnd(20))}${visible(value)}\n`);
  return [...lines, ...shown, ...more].join('');
}

/** About one screen; scripts read the JSON. */
const maxShown = 20;

const statusRows = [
  ['user', 'id'],
  ['status', 'status'],
] as const;

const updatedRows = [...statusRows, ['roles', 'roles'], ['groups', 'groups'], ['slack', 'slack_user_id']] as const;

const reissuedRows = [
  ['id', 'reissued_token_id'],
  ['replaces', 'revoked_old_token_id'],
  ['delivery', 'delivery_status'],
  ['by', 'delivery_channel'],
] as const;
