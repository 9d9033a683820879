import type { EffectiveRole, UserCaller } from '../domain/caller.js';
import { callerTies, selectorTies } from '../domain/four-eyes.js';
import { isUnrestricted } from '../domain/permissions.js';
import { selectorsOf } from '../domain/selectors.js';
import type { Parameters } from './parameters.js';
import type { Branch } from './request-branch.js';

export interface RequestFilters {
  status?: string | undefined;
  user?: string | undefined;
  database?: string | undefined;
  environment?: string | undefined;
  operation?: string | undefined;
}

/**
 * RQ-2 as SQL over `requests r`, first part: what the caller always sees, in disjoint conditions: own, in reach of a role with `:any`, or
 * shared. Each has an index, and none depends on what changes in a request. `maySee` in `domain/request/relation.ts` is the same rule, with
 * `moving`, for one request.
 */
export function lasting(caller: UserCaller, p: Parameters): string[] {
  const roles = rolesWith(caller, 'own');
  const wide = rolesWith(caller, 'any');
  if (roles.length === 0) return ['false'];
  if (wide.some(isUnrestricted)) return ['true'];
  const own = `r.requester = ${p.add(caller.id)} and ${covering(roles, p)}`;
  const reached = wide.length === 0 ? [] : [`${covering(wide, p)} and not (${own})`];
  const shared = `r.share_selectors <> '{}' and ${matches('r.share_selectors', caller, p)} and ${covering(roles, p)}`;
  const before = [own, ...reached].map((condition) => `(${condition})`).join(' or ');
  return [own, ...reached, `${shared} and not (${before})`];
}

/**
 * The second part, in disjoint conditions too: what its moves open to the caller, and each sets its `updated_at`. What waits for the caller, which
 * only `pending` requests do, and what the caller has decided on. Empty if the first part is all that the caller can see.
 */
export function moving(caller: UserCaller, status: string | undefined, p: Parameters): Branch[] {
  const roles = rolesWith(caller, 'own');
  if (roles.length === 0 || rolesWith(caller, 'any').some(isUnrestricted)) return [];
  const seen = lasting(caller, p).map((condition) => `(${condition})`);
  const further = `${covering(roles, p)} and not (${seen.join(' or ')})`;
  const waits = `r.status = 'pending' and ${matches('r.step_selectors', caller, p)}`;
  const decided = { decidedBy: p.add(caller.id), where: `not (${waits}) and ${further}` };
  return status === undefined || status === 'pending' ? [{ where: `${waits} and ${further}` }, decided] : [decided];
}

/** What the caller has decided on and still sees (RQ-8). */
export function decidedByMe(caller: UserCaller, p: Parameters): Branch {
  const roles = rolesWith(caller, 'own');
  return { decidedBy: p.add(caller.id), where: roles.length === 0 ? 'false' : covering(roles, p) };
}

/**
 * RQ-36 as SQL. The request is pending and in time, and a selector that the caller has is open. Unless self-approval is allowed, the
 * requester is neither the caller nor a user who created the caller, and did not grant that selector (HD-70). The caller has not approved
 * this step, nor an earlier one unless allowed.
 */
export const approvable = (caller: UserCaller, p: Parameters): string =>
  `r.status = 'pending' and ${approvableOfPending(caller, p)}`;

/**
 * The same without the status, which the selectors imply: only pending requests have open ones. PostgreSQL takes the two for independent, so that it
 * expects too few of both.
 */
export function approvableOfPending(caller: UserCaller, p: Parameters): string {
  const me = p.add(caller.id);
  const allowed = `coalesce((r.workflow->>'allowSelfApprove')::boolean, false)`;
  // By an instant that stands still during the statement: with one that does not, PostgreSQL expects a third of what waits.
  return `(r.expires_at is null or r.expires_at > statement_timestamp()) and ${matches('r.open_selectors', caller, p)}
    and ((${untied([caller.id, ...callerTies(caller)], p)} and ${grantedByOthers(caller, p)}) or ${allowed})
    and not exists (select 1 from decisions d where d.request_id = r.id and d.user_id = ${me} and d.action = 'approve'
      and (d.step = r.current_step or not coalesce((r.workflow->>'allowSameApproverAcrossSteps')::boolean, false)))`;
}

/** Every role covers a row with this pair (IM-40). */
const anyPair = { database: '*', environment: '*' };

/** Whether the requester is not among `names`; `*` means everybody. */
function untied(names: readonly string[], p: Parameters): string {
  if (names.includes('*')) return 'false';
  return names.length === 0 ? 'true' : `r.requester <> all(${p.add(names)}::text[])`;
}

/** Whether somebody other than the requester granted an open selector. Selectors with the same ties share a condition. */
function grantedByOthers(caller: UserCaller, p: Parameters): string {
  const byTies = new Map<string, Set<string>>();
  for (const selector of selectorsOf(caller, anyPair)) {
    const ties = selectorTies(caller, selector).toSorted().join(' ');
    byTies.set(ties, (byTies.get(ties) ?? new Set()).add(selector));
  }
  if (byTies.size === 1 && byTies.has('')) return 'true';
  const parts = [...byTies].map(([ties, selectors]) => {
    const others = untied(ties === '' ? [] : ties.split(' '), p);
    return `(${matches('r.open_selectors', caller, p, (selector) => selectors.has(selector))} and ${others})`;
  });
  return `(${parts.join(' or ')})`;
}

const columnOf = {
  status: 'status',
  user: 'requester',
  database: 'database',
  environment: 'environment',
  operation: 'operation',
} as const satisfies Record<keyof RequestFilters, string>;

export function filtered(filters: RequestFilters, p: Parameters): string {
  const conditions = Object.entries(columnOf).flatMap(([key, column]) => {
    const value = filters[key as keyof RequestFilters];
    return value === undefined ? [] : [`r.${column} = ${p.add(value)}`];
  });
  return conditions.length === 0 ? 'true' : conditions.join(' and ');
}

function rolesWith(caller: UserCaller, ownership: 'own' | 'any'): EffectiveRole[] {
  return caller.roles.filter((role) =>
    role.permissions.some(
      ({ perm, ownership: held }) => (perm === '*' || perm === 'request.view') && (ownership === 'own' || held === 'any'),
    ),
  );
}

/** Whether a role covers the pair of the row. */
function covering(roles: readonly EffectiveRole[], p: Parameters): string {
  if (roles.some(isUnrestricted)) return 'true';
  return `(${roles.map((role) => insideRole(role, p)).join(' or ')})`;
}

function insideRole({ databases, environments }: EffectiveRole, p: Parameters): string {
  const inside = (column: string, names: string[]) => (names.includes('*') ? 'true' : `${column} = any(${p.add(names)}::text[])`);
  return `(${inside('r.database', databases)} and ${inside('r.environment', environments)})`;
}

/** RQ-9 as SQL: users and groups match anywhere, a role only where it covers the pair. */
function matches(column: string, caller: UserCaller, p: Parameters, asked: (selector: string) => boolean = () => true): string {
  const anywhere = [`user:${caller.id}`, ...caller.groups.map((group) => `group:${group}`)].filter(asked);
  const limited: string[] = [];
  for (const role of caller.roles.filter(({ name }) => asked(`role:${name}`))) {
    if (isUnrestricted(role)) anywhere.push(`role:${role.name}`);
    else limited.push(`(${column} && ${p.add([`role:${role.name}`])}::text[] and ${insideRole(role, p)})`);
  }
  return `(${[`${column} && ${p.add(anywhere)}::text[]`, ...limited].join(' or ')})`;
}
