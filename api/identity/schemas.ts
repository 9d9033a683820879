import { z } from 'zod';
import { isGroupName, isUserId } from '../../domain/selectors.js';

export const userId = z.string().refine(isUserId, 'must have 1 to 128 characters of letters, digits and -_@.');
const roleNames = z.array(z.string());
const groupNames = z.array(z.string().refine(isGroupName, 'has an entry that is no group name'));

/** null means "not given" here and in a change, as if the field were absent. */
const orNone = (names: z.ZodArray<z.ZodString>) =>
  names
    .nullable()
    .default([])
    .transform((given) => given ?? []);
const orAbsent = (names: z.ZodArray<z.ZodString>) => names.nullish().transform((given) => given ?? undefined);

/** The body of `POST /api/users` (IM-62). */
export const newUser = z.object({ id: userId, roles: orNone(roleNames), groups: orNone(groupNames) });

const overlap = (names: readonly string[] = [], others: readonly string[] = []) => {
  const known = new Set(others);
  return names.findIndex((name) => known.has(name));
};

/** The body of `PATCH /api/users/{id}` (IM-63). */
export const userPatch = z
  .object({
    roles: orAbsent(roleNames),
    add_roles: orAbsent(roleNames),
    rm_roles: orAbsent(roleNames),
    add_groups: orAbsent(groupNames),
    rm_groups: orAbsent(groupNames),
    slack_user_id: z
      .string()
      .max(64)
      .regex(/^(?:[UW][A-Z0-9]+)?$/, 'must be U or W and then capitals and digits')
      .nullish()
      .meta({ description: 'null or an empty text ends the link' }),
  })
  .check(({ value, issues }) => {
    const refuse = (path: PropertyKey[], message: string) => issues.push({ code: 'custom', input: value, path, message });
    if (Object.values(value).every((part) => part === undefined)) refuse([], 'must name a change');
    if (value.roles !== undefined && value.add_roles !== undefined) refuse(['add_roles'], 'must not come with roles');
    if (value.roles !== undefined && value.rm_roles !== undefined) refuse(['rm_roles'], 'must not come with roles');
    const role = overlap(value.add_roles, value.rm_roles);
    if (role >= 0) refuse(['add_roles', role], 'has a name that rm_roles has too');
    const group = overlap(value.add_groups, value.rm_groups);
    if (group >= 0) refuse(['add_groups', group], 'has a name that rm_groups has too');
  });

/** No fields; the body may be absent (HT-47). */
export const noFields = z.object({});

/** Any text, because an id that names nothing is 404 (HT-61). */
export const idParams = z.object({ id: z.string() });

const instant = z.string().meta({ format: 'date-time' });

export const user = z.object({
  id: z.string(),
  display_name: z.string().nullable(),
  email: z.string().nullable(),
  groups: z.array(z.string()),
  roles: z.array(z.string()),
  status: z.enum(['active', 'suspended']),
  source: z.enum(['api', 'oidc', 'slack', 'bootstrap']),
  slack_user_id: z.string().nullable(),
  last_seen_at: instant.nullable(),
  created_at: instant,
  updated_at: instant,
});

const ceiling = z.object({ roles: z.array(z.string()) }).nullable();

export const me = z.object({
  subject_id: z.string(),
  subject_type: z.literal('user'),
  display_name: z.string().nullable(),
  email: z.string().nullable(),
  source: z.string(),
  slack_user_id: z.string().nullable(),
  roles: z.array(
    z.object({
      name: z.string(),
      permissions: z.array(z.string()),
      databases: z.array(z.string()),
      environments: z.array(z.string()),
    }),
  ),
  groups: z.array(z.string()),
  token: z
    .object({ id: z.string(), name: z.string().nullable(), scope_ceiling: ceiling, expires_at: instant.nullable() })
    .nullable(),
});

const subjectType = z.enum(['user', 'agent']);
const agentScopes = z
  .array(z.string())
  .nullable()
  .optional()
  .meta({ description: 'of agent tokens: the pairs it may serve, null = every pair' });

export const createdToken = z.object({
  id: z.string(),
  token: z.string(),
  prefix: z.string(),
  subject_id: z.string(),
  subject_type: subjectType,
  name: z.string().nullable(),
  scope_ceiling: ceiling,
  agent_scopes: agentScopes,
  effective_roles: z.array(z.string()),
  effective_permissions: z.array(z.string()),
  expires_at: instant.nullable(),
  warnings: z
    .array(z.enum(['unscoped']))
    .optional()
    .meta({ description: '`unscoped`: this agent token may serve every database' }),
});

const tokenStatus = z.enum(['active', 'expired', 'revoked']);

export const listedToken = z.object({
  id: z.string(),
  subject_type: subjectType,
  subject_id: z.string(),
  token_prefix: z.string(),
  scope_ceiling: ceiling,
  agent_scopes: agentScopes,
  name: z.string().nullable(),
  status: tokenStatus,
  provisioning_kind: z.enum(['initial', 'bootstrap']).nullable(),
  expires_at: instant.nullable(),
  created_at: instant,
  revoked_at: instant.nullable(),
});

export const inspectedToken = z.object({
  id: z.string(),
  subject_id: z.string(),
  subject_type: subjectType,
  name: z.string().nullable(),
  scope_ceiling: ceiling,
  agent_scopes: agentScopes,
  resolved_roles: z.array(z.string()),
  effective_roles: z.array(z.string()),
  effective_permissions: z.array(z.string()),
  status: tokenStatus,
  expires_at: instant.nullable(),
});

export const reissued = z.object({
  reissued_token_id: z.string(),
  reissued_at: instant,
  revoked_old_token_id: z.string().nullable(),
  delivery_status: z.enum(['delivered', 'failed', 'not_configured']),
  delivery_channel: z.literal('slack_dm').nullable(),
  token: z.string().nullable(),
  manual_recovery_required: z.boolean(),
});
