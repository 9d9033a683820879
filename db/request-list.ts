import type { Caller, EffectiveRole } from '../domain/permissions.js';
import type { Status } from '../domain/request/types.js';
import type { Queryable } from './client.js';
import { type Parameters, parameters } from './parameters.js';

export interface RequestFilters {
  status?: string | undefined;
  user?: string | undefined;
  database?: string | undefined;
  environment?: string | undefined;
  operation?: string | undefined;
}

export interface ListedRequest {
  id: string;
  requester: string;
  database: string;
  environment: string;
  operation: string;
  detail: string;
  status: Status;
  reason: string | null;
  emergency: boolean;
  created_at: number;
  updated_at: number;
  expires_at: number | null;
  current_step: number;
  total_steps: number;
  step_selectors: string[];
}

const columns = `r.id, r.requester, r.database, r.environment, r.operation, r.detail, r.status, r.reason, r.emergency, r.created_at, r.updated_at, r.expires_at,
  r.current_step, coalesce(jsonb_array_length(r.workflow->'steps'), 0) as total_steps, r.step_selectors`;

/** One page of what the caller could show (RQ-11), or with `pendingForMe` could approve now (RQ-36), newest first, and how many there are. */
export async function listRequests(
  db: Queryable,
  caller: Caller,
  filters: RequestFilters,
  page: { limit: number; offset: number; pendingForMe: boolean },
): Promise<{ rows: ListedRequest[]; total: number }> {
  if (caller.kind !== 'user') return { rows: [], total: 0 };
  const p = parameters();
  const conditions = [page.pendingForMe ? approvable(caller, p) : visible(caller, p), ...filterConditions(filters, p)].join(
    ' and ',
  );
  const counted = await db.query<{ total: number }>(`select count(*) as total from requests r where ${conditions}`, p.values);
  if (page.limit === 0) return { rows: [], total: counted[0]?.total ?? 0 };
  const limits = `limit ${p.add(page.limit)} offset ${p.add(page.offset)}`;
  const rows = await db.query<ListedRequest>(
    `select ${columns} from requests r where ${conditions} order by r.created_at desc, r.id desc ${limits}`,
    p.values,
  );
  return { rows, total: counted[0]?.total ?? 0 };
}

function filterConditions(filters: RequestFilters, p: Parameters): string[] {
  const columnOf = {
    status: 'status',
    user: 'requester',
    database: 'database',
    environment: 'environment',
    operation: 'operation',
  } as const;
  return Object.entries(columnOf).flatMap(([key, column]) => {
    const value = filters[key as keyof RequestFilters];
    return value === undefined ? [] : [`r.${column} = ${p.add(value)}`];
  });
}

/** RQ-2 as SQL; `domain/request/relation.ts` `maySee` is the same rule for one request. */
function visible(caller: Caller & { kind: 'user' }, p: Parameters): string {
  const roles = rolesWith(caller, 'own');
  if (roles.length === 0) return 'false';
  const everything = rolesWith(caller, 'any');
  const own = `r.requester = ${p.add(caller.id)}`;
  const named = `(r.status = 'pending' and ${matches('r.step_selectors', caller, p)})`;
  const shared = matches('r.share_selectors', caller, p);
  const related = [own, named, shared, `(${covering(everything, p)})`].join(' or ');
  return `(${covering(roles, p)}) and (${related})`;
}

/** RQ-36 as SQL: pending, in time, not own unless allowed, not approved before unless allowed, and a selector that is still open. */
function approvable(caller: Caller & { kind: 'user' }, p: Parameters): string {
  const me = p.add(caller.id);
  return `r.status = 'pending' and (r.expires_at is null or r.expires_at > clock_timestamp()) and ${matches('r.open_selectors', caller, p)}
    and (r.requester <> ${me} or coalesce((r.workflow->>'allowSelfApprove')::boolean, false))
    and not exists (select 1 from decisions d where d.request_id = r.id and d.user_id = ${me} and d.action = 'approve'
      and (d.step = r.current_step or not coalesce((r.workflow->>'allowSameApproverAcrossSteps')::boolean, false)))`;
}

function rolesWith(caller: Caller & { kind: 'user' }, ownership: 'own' | 'any'): EffectiveRole[] {
  return caller.roles.filter((role) =>
    role.permissions.some(
      ({ perm, ownership: held }) => (perm === '*' || perm === 'request.view') && (ownership === 'own' || held === 'any'),
    ),
  );
}

/** Whether the pair of the row is inside one of the roles. */
function covering(roles: readonly EffectiveRole[], p: Parameters): string {
  if (roles.length === 0) return 'false';
  return roles.map((role) => insideRole(role, p)).join(' or ');
}

function insideRole({ databases, environments }: EffectiveRole, p: Parameters): string {
  const inside = (column: string, names: string[]) => (names.includes('*') ? 'true' : `${column} = any(${p.add(names)}::text[])`);
  return `(${inside('r.database', databases)} and ${inside('r.environment', environments)})`;
}

/** RQ-9 as SQL: user and groups match anywhere, a role only where it covers the pair. */
function matches(column: string, caller: Caller & { kind: 'user' }, p: Parameters): string {
  const anywhere = [`user:${caller.id}`, ...caller.groups.map((group) => `group:${group}`)];
  const limited: string[] = [];
  for (const role of caller.roles) {
    if (role.databases.includes('*') && role.environments.includes('*')) anywhere.push(`role:${role.name}`);
    else limited.push(`(${column} && ${p.add([`role:${role.name}`])}::text[] and ${insideRole(role, p)})`);
  }
  return `(${[`${column} && ${p.add(anywhere)}::text[]`, ...limited].join(' or ')})`;
}
