import type { JsonText } from '../../lib/json/read.js';
import { arrayText, objectText } from '../../lib/json/write.js';
import { visible } from '../../lib/visible.js';
import { requireConfirmation } from '../confirmation.js';
import type { Context } from '../context.js';
import { CommandFailure, failure } from '../failure.js';
import { renderDetails, showValue } from '../output/details.js';
import { tableInstant } from '../output/instant.js';
import { type Answer, listAnswer } from '../output/output.js';
import { statusPainter } from '../output/style.js';
import { renderTable } from '../output/table.js';
import { parseWhen } from '../when.js';

export interface TokenCreateOptions {
  subject?: string;
  subjectType?: 'user' | 'agent';
  agent?: string;
  scope?: string[];
  scopeRoles?: string[];
  scopeCeiling?: boolean;
  name?: string;
  expires?: string;
}

export interface TokenListOptions {
  subject?: string;
  status?: string;
  type?: string;
}

/** `svc token create`: only the new token on stdout, its description on stderr; the token is shown only once (CL-02). */
export async function createToken(context: Context, _: readonly string[], options: TokenCreateOptions): Promise<Answer> {
  const { type, subject } = subjectOf(options);
  const unlimited = options.scopeCeiling === false;
  if (unlimited && options.scopeRoles !== undefined)
    throw failure('usage', 'token create: --scope-roles and --no-scope-ceiling cannot be used together');
  if (unlimited && type === 'user') throw failure('usage', 'token create: --no-scope-ceiling is for agent tokens only');
  const expires = options.expires === undefined ? undefined : parseWhen(options.expires, 'expires', context.terminal.now());
  const body = {
    subject_id: subject ?? (await ownId(context)),
    subject_type: type,
    ...(options.name === undefined ? {} : { name: options.name }),
    ...(options.scopeRoles === undefined ? {} : { scope_ceiling: { roles: options.scopeRoles } }),
    ...(unlimited ? { scope_ceiling: null } : {}),
    ...(options.scope === undefined ? {} : { agent_scopes: options.scope }),
    ...(expires === undefined ? {} : { expires_at: expires }),
  };
  const reply = await context.client().call({ method: 'POST', path: ['api', 'tokens'], body: JSON.stringify(body) });
  const token = reply.json().get('token')?.string();
  if (reply.status !== 201 || token == null)
    throw failure('server_error', `token create: the server answered ${reply.status} without a new token`);
  warnOfScopes(context, reply.json());
  return {
    data: reply.text,
    human: () => `${visible(token)}\n`,
    note: `${renderDetails(reply.json(), created, context.output.noteStyle)}Keep the token now: it is not shown again.`,
  };
}

const scopeWarnings: Readonly<Record<string, string>> = {
  unscoped: 'this agent token may serve every database; give it --scope DATABASE/ENVIRONMENT',
  scope_not_registered: 'a --scope fits no database and environment of the gateway: svc databases lists them',
};

function warnOfScopes({ output }: Context, answer: JsonText): void {
  for (const warning of answer.get('warnings')?.items() ?? []) {
    const name = warning.string() ?? '';
    if (Object.hasOwn(scopeWarnings, name)) output.warn(scopeWarnings[name]!);
  }
}

/** `--agent NAME` is `--subject NAME --subject-type agent`. */
function subjectOf(options: TokenCreateOptions): { type: 'user' | 'agent'; subject: string | undefined } {
  const { agent, subject } = options;
  if (agent !== undefined && (subject !== undefined || options.subjectType === 'user'))
    throw failure('usage', 'token create: --agent cannot be used with --subject or --subject-type user');
  const type = agent === undefined ? (options.subjectType ?? 'user') : 'agent';
  if (type === 'agent' && (agent ?? subject) === undefined)
    throw failure('usage', 'token create: an agent token needs --agent or --subject');
  if (type === 'user' && options.scope !== undefined) throw failure('usage', 'token create: --scope is for agent tokens only');
  return { type, subject: agent ?? subject };
}

/** `svc token list`; filters here, because the endpoint has no filters. */
export async function listTokens(context: Context, _: readonly string[], options: TokenListOptions): Promise<Answer> {
  const reply = await context.client().call({ method: 'GET', path: ['api', 'tokens'] });
  const wanted: [string, string | undefined][] = [
    ['subject_id', options.subject],
    ['status', options.status],
    ['subject_type', options.type],
  ];
  const isWanted = (token: JsonText) => wanted.every(([key, value]) => value === undefined || token.get(key)?.string() === value);
  const all = reply.json().get('tokens')?.items() ?? [];
  const tokens = all.filter(isWanted);
  const data =
    tokens.length === all.length ? reply.text : objectText({}, { tokens: arrayText(tokens.map((token) => token.text)) });
  return listAnswer(data, tokens.length, 'tokens', () => tokenTable(context, tokens));
}

export async function revokeToken(context: Context, args: readonly string[]): Promise<Answer> {
  const id = args[0]!;
  await requireConfirmation(context, `Revoke the token ${id}?`, 'this cannot be undone');
  const reply = await context.client().call({ method: 'DELETE', path: ['api', 'tokens', id] });
  expectOk(context, reply.status);
  return {
    data: reply.text,
    human: () =>
      renderDetails(
        reply.json(),
        [
          ['revoked', 'id'],
          ['at', 'revoked_at'],
        ],
        context.output.style,
      ),
  };
}

export async function inspectToken(context: Context, args: readonly string[]): Promise<Answer> {
  const reply = await context.client().call({ method: 'GET', path: ['api', 'tokens', args[0]!, 'inspect'] });
  expectOk(context, reply.status);
  return { data: reply.text, human: () => renderDetails(reply.json(), inspected, context.output.style) };
}

const created = [
  ['id', 'id'],
  ['subject', 'subject_id'],
  ['type', 'subject_type'],
  ['name', 'name'],
  ['roles', 'effective_roles'],
  ['scopes', 'agent_scopes'],
  ['expires', 'expires_at'],
] as const;

const inspected = [
  ['id', 'id'],
  ['status', 'status'],
  ['subject', 'subject_id'],
  ['type', 'subject_type'],
  ['name', 'name'],
  ['ceiling', 'scope_ceiling'],
  ['resolved roles', 'resolved_roles'],
  ['roles', 'effective_roles'],
  ['permissions', 'effective_permissions'],
  ['scopes', 'agent_scopes'],
  ['expires', 'expires_at'],
] as const;

async function ownId(context: Context): Promise<string> {
  const reply = await context.client().call({ method: 'GET', path: ['api', 'me'] });
  const id = reply.json().get('subject_id')?.string();
  if (id == null) throw failure('server_error', `${context.what}: the server did not say who this is`);
  return id;
}

function expectOk(context: Context, status: number): void {
  if (status !== 200) throw new CommandFailure('server_error', `${context.what}: the server answered ${status}`);
}

/** Leaves out columns that may be empty and are so for every token, and others on a narrow terminal: the ids need the room. */
function tokenTable(context: Context, tokens: readonly JsonText[]): string {
  const { style } = context.output;
  const columns = Object.entries(tokenColumns).filter(
    ([key]) => !mayBeEmpty.has(key) || tokens.some((token) => tokenCell(token, key) !== ''),
  );
  const rows = tokens.map((token) => columns.map(([key]) => tableInstant(tokenCell(token, key), style)));
  const header = columns.map(([, title]) => title);
  const at = (name: string) => columns.findIndex(([key]) => key === name);
  return renderTable(header, rows, {
    style,
    whole: new Set([0]),
    spare: ['created_at', 'token_prefix', 'subject_type'].map(at),
    spareLast: ['agent_scopes', 'scope_ceiling'].map(at),
    paintCell: statusPainter(style, rows, 2),
  });
}

const tokenColumns = {
  id: 'ID',
  token_prefix: 'PREFIX',
  status: 'STATUS',
  subject_type: 'TYPE',
  subject_id: 'SUBJECT',
  name: 'NAME',
  scope_ceiling: 'ROLES',
  agent_scopes: 'SCOPES',
  expires_at: 'EXPIRES',
  created_at: 'CREATED',
};

const mayBeEmpty: ReadonlySet<string> = new Set(['name', 'scope_ceiling', 'agent_scopes', 'expires_at']);

function tokenCell(token: JsonText, key: string): string {
  if (key === 'agent_scopes' && token.get(key)?.kind === 'null') return 'every database';
  return showValue(key === 'scope_ceiling' ? token.get(key)?.get('roles') : token.get(key));
}
