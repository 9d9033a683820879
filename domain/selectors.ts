import { utf8Length } from '../lib/utf8.js';
import type { Caller, EffectiveRole, Pair } from './caller.js';
import { invalid } from './errors.js';

export type SelectorKind = 'user' | 'group' | 'role';

/** RQ-10: how many entries `share_with` may have. */
export const MAX_SHARE_WITH = 100;

/** RQ-9: whether a selector (`user:`, `group:`, `role:`) names the caller on a concrete pair. Agents match nothing; malformed text matches nobody. */
export function matchesSelector(caller: Caller, selector: string, pair: Pair): boolean {
  const parsed = parseSelector(selector);
  if (caller.kind === 'agent' || parsed === null) return false;
  if (parsed.kind === 'user') return caller.id === parsed.name;
  if (parsed.kind === 'group') return caller.groups.includes(parsed.name);
  return caller.roles.some((role) => role.name === parsed.name && coversPair(role, pair));
}

/** Every selector that names the caller on the pair: exactly those that `matchesSelector` accepts. */
export function selectorsOf(caller: Caller, pair: Pair): string[] {
  if (caller.kind === 'agent') return [];
  const roles = caller.roles.filter((role) => coversPair(role, pair)).map(({ name }) => `role:${name}`);
  return [`user:${caller.id}`, ...caller.groups.map((group) => `group:${group}`), ...roles];
}

/** Splits at the first `:` and checks the name by the rule of its kind; null for anything that is not a selector. */
export function parseSelector(text: string): { kind: SelectorKind; name: string } | null {
  const colon = text.indexOf(':');
  const kind = text.slice(0, Math.max(colon, 0));
  const name = text.slice(colon + 1);
  if (kind === 'user') return isUserId(name) ? { kind, name } : null;
  if (kind === 'group') return isGroupName(name) ? { kind, name } : null;
  if (kind === 'role') return isRoleName(name) ? { kind, name } : null;
  return null;
}

/**
 * RQ-10: the selectors of `share_with`, with bare ids as `user:<id>`, sorted and without repeats, so that equal meanings compare equal (RQ-31).
 * `requester` stays. Throws `validation.failed` with the place of the first bad entry.
 */
export function normaliseShareWith(entries: readonly string[]): string[] {
  if (entries.length > MAX_SHARE_WITH) throw invalid(`share_with has more than ${MAX_SHARE_WITH} entries`, 'body.share_with');
  const selectors = entries.map((entry, index) => {
    if (entry === 'requester') return entry;
    const selector = entry.includes(':') ? entry : `user:${entry}`;
    if (parseSelector(selector) === null)
      throw invalid('share_with entry is neither a user id nor a selector', `body.share_with[${index}]`);
    return selector;
  });
  return [...new Set(selectors)].sort();
}

/** IM-40: whether the role's databases and environments cover the pair or, for a policy row, at least one pair it can apply to. */
export function coversPair(held: Pick<EffectiveRole, 'databases' | 'environments'>, pair: Pair): boolean {
  return covers(held.databases, pair.database) && covers(held.environments, pair.environment);
}

/** HT-71, CF-6: the name of a database or environment; a lone `*` is not a name. */
export const namePattern = /^[a-z][a-z0-9_-]{0,62}$/;
export const isName = (text: string) => namePattern.test(text);

/** HT-72, IM-60: a user id or the id of an agent. */
export const userIdPattern = /^[A-Za-z0-9._@-]{1,128}$/;
export const isUserId = (text: string) => userIdPattern.test(text);

/** By these ids the audit log names the gateway itself, and whoever proved nothing. No account may have them. */
const notAccounts: ReadonlySet<string> = new Set(['system', 'anonymous']);
export const isReservedId = (id: string) => notAccounts.has(id);

/** IM-50. */
export const roleNamePattern = /^[A-Za-z0-9_.-]{1,64}$/;
export const isRoleName = (text: string) => roleNamePattern.test(text);

/** IM-60: 1 to 256 bytes of UTF-8, no control characters, no unpaired surrogates. */
export const MAX_GROUP_NAME_BYTES = 256;
export const isGroupName = (text: string) =>
  text.length > 0 && utf8Length(text) <= MAX_GROUP_NAME_BYTES && !/[\p{Cc}\p{Surrogate}]/u.test(text);

/** The longest selector is one of a group. */
export const MAX_SELECTOR_BYTES = 'group:'.length + MAX_GROUP_NAME_BYTES;

const covers = (list: readonly string[], name: string) => name === '*' || list.includes('*') || list.includes(name);
