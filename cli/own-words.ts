import type { CommandCall } from './context.js';
import { CommandFailure } from './failure.js';

type Typed = Pick<CommandCall, 'what' | 'options'>;

/** Fields of calls, and the options that fill them; of several, the one that was given. */
const optionsOf: Readonly<Record<string, readonly string[]>> = {
  actor_id: ['--user'],
  add_groups: ['--add-group'],
  add_roles: ['--add-role'],
  agent_scopes: ['--scope'],
  allow_ddl: ['--allow-ddl'],
  comment: ['--comment'],
  database: ['--database'],
  emergency: ['--emergency'],
  environment: ['--environment'],
  event_category: ['--category'],
  event_type: ['--event-type'],
  execution_id: ['--execution'],
  expires_at: ['--expires'],
  explain_timeout_ms: ['--explain-timeout'],
  groups: ['--group'],
  idempotency_key: ['--idempotency-key'],
  limit: ['--limit'],
  max_count: ['--count'],
  metadata: ['--repo', '--ticket'],
  name: ['--name'],
  offset: ['--offset'],
  operation: ['--operation'],
  reason: ['--reason'],
  request_id: ['--request'],
  require_approval: ['--ask'],
  rm_groups: ['--rm-group'],
  rm_roles: ['--rm-role'],
  roles: ['--role'],
  scope_ceiling: ['--scope-roles'],
  selector: ['--as'],
  share_with: ['--share-with'],
  since: ['--since'],
  slack_user_id: ['--slack-user-id'],
  status: ['--status'],
  subject_id: ['--agent', '--subject'],
  until: ['--until'],
  user: ['--user'],
};

/** A refusal names the field of a call (HT-91); whoever typed a command knows its options and files. */
export function inOwnWords(problem: unknown, typed: Typed): unknown {
  if (!(problem instanceof CommandFailure)) return problem;
  const list = listOf(problem);
  if (list !== null) return reworded(problem, problem.message, list);
  if (problem.hint === null) return problem;
  const [, field, index] = /^(?:body|query|path)\.(\w+)[^[]*(?:\[(\d+)\])?/.exec(problem.hint) ?? [];
  if (field === undefined) return reworded(problem, problem.message, withOptions(problem.hint));
  const isSql = field === 'detail' || field === 'sql';
  const option = optionOf(field, typed);
  // An argument has no name that was typed.
  if (!isSql && option === undefined) return hasName(problem, typed, field) ? reworded(problem, problem.message, null) : problem;
  const own = isSql ? 'the SQL' : option!;
  if (hasName(problem, typed, field)) {
    const rest = problem.message.slice(startOf(typed, field).length);
    return reworded(problem, `${typed.what}: ${own} ${rest}`, isSql ? placeOfSql(typed) : null);
  }
  return reworded(problem, problem.message, isSql ? placeOfSql(typed) : adviceOn(own, index, typed));
}

const startOf = ({ what }: Typed, field: string) => `${what}: ${field} `;
const hasName = ({ message }: CommandFailure, typed: Typed, field: string) => message.startsWith(startOf(typed, field));

/** Where to look for what was not found. */
function listOf({ code, reason, hint }: CommandFailure): string | null {
  if (code === 'table.not_found') return hint?.replace('without the name of a table the answer', 'svc schema') ?? null;
  if (hint !== null) return null;
  return lists[reason === 'not_registered' ? 'database.not_found' : code] ?? null;
}

const lists: Readonly<Record<string, string>> = {
  'database.not_found': 'svc databases lists those that you can see',
  'delivery.not_found': 'svc webhook deliveries lists them',
  'group.not_found': 'svc group list shows them',
  'request.not_found': 'svc request list shows those that you can see',
  'token.not_found': 'svc token list shows those that you can see',
  'user.not_found': 'svc user list shows them',
  'webhook.not_found': 'svc webhook list shows them',
};

function optionOf(field: string, { options }: Typed): string | undefined {
  const names = Object.hasOwn(optionsOf, field) ? optionsOf[field]! : [];
  return names.find((name) => options[keyOf(name)] !== undefined) ?? names.at(-1);
}

/** The key under which commander keeps an option's value. */
const keyOf = (option: string) => option.slice(2).replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** Nothing where the SQL stands in the command itself. */
function placeOfSql({ options }: Typed): string | null {
  const { file } = options;
  if (typeof file !== 'string') return null;
  return file === '-' ? 'in standard input' : `in ${file}`;
}

function adviceOn(option: string, index: string | undefined, { options }: Typed): string {
  const value = options[keyOf(option)];
  const given: unknown = Array.isArray(value) ? value[Number(index ?? 0)] : value;
  if (given === true) return `leave out ${option}`;
  if (given === undefined) return `add ${option}`;
  const [, listed] = /^--(?:add-|rm-)?(role|group)$/.exec(option) ?? [];
  return `check ${option} ${String(given)}${listed === undefined ? '' : `; svc ${listed} list shows them`}`;
}

/** A field that a sentence names. Words without a `_` may mean something else. */
const withOptions = (hint: string) =>
  hint.replace(/\b[a-z]+(?:_[a-z]+)+\b/g, (word) => (Object.hasOwn(optionsOf, word) ? optionsOf[word]!.at(-1)! : word));

function reworded(problem: CommandFailure, message: string, hint: string | null): CommandFailure {
  const { code, reason, exit, data, human } = problem;
  const own = new CommandFailure(code, message, { hint, reason, exit, data, ...(human === null ? {} : { human }) });
  own.requestId = problem.requestId;
  return own;
}
