import { z } from 'zod';
import { bool, choice, int, list, optionalText, text, textOr, textOrEmpty } from './fields.js';
import { UNREAD } from './leaf.js';
import { optionalSection, withRule } from './table-rules.js';
import * as rules from './text-rules.js';

const resultStorage = withRule(
  z.strictObject({
    backend: choice(['local', 's3'], 'local'),
    root_dir: optionalText(),
    bucket: textOr('svc'),
    region: textOr('us-east-1'),
    prefix: textOr('results'),
    endpoint: optionalText(rules.httpUrl),
    access_key_id: optionalText(),
    secret_access_key: optionalText(),
    path_style: bool(false),
    max_persist_bytes: int(10_485_760, 1024, 1_073_741_824),
  }),
  ['access_key_id', 'secret_access_key'],
  (keys, tell) => {
    if ((keys.access_key_id === null) !== (keys.secret_access_key === null))
      tell('access_key_id and secret_access_key must be set together');
  },
);

const onboarding = optionalSection(
  withRule(
    z.strictObject({
      enabled: bool(false),
      assignable_roles: list(rules.roleName),
      restricted_roles: list(rules.roleName),
      assignable_groups: list(rules.groupName),
      request_ttl_hours: int(72, 1, 8760),
    }),
    ['assignable_roles', 'restricted_roles'],
    ({ assignable_roles: assignable, restricted_roles: restricted }, tell) => {
      if (assignable.includes(UNREAD)) return;
      restricted.forEach((role, index) => {
        if (role !== UNREAD && !assignable.includes(role)) tell('must be one of assignable_roles', ['restricted_roles', index]);
      });
    },
  ),
);

const oidcKeys = z.strictObject({
  issuer: optionalText(rules.guardedUrl),
  issuer_url: optionalText(rules.guardedUrl),
  client_id: optionalText(),
  client_secret: optionalText(),
  scopes: textOr('openid profile email'),
  audience: optionalText(),
  jwks_uri: optionalText(rules.guardedUrl),
  default_role: textOrEmpty('approver', rules.roleName, '; `""` = none'),
  subject_claim: textOr('sub'),
  groups_claim: textOr('groups'),
  link_existing_users: bool(false),
  role_mappings: z.array(z.strictObject({ claim: text(), value: text(), role: text(rules.roleName) })).default([]),
});
const oidcWithIssuer = withRule(oidcKeys, ['issuer', 'issuer_url'], ({ issuer, issuer_url: other }, tell) => {
  if (issuer === null && other === null) tell('is required', ['issuer']);
  if (issuer !== null && other !== null) tell('appears twice: issuer and issuer_url', ['issuer_url']);
});
const oidc = withRule(oidcWithIssuer, ['client_id', 'audience'], (keys, tell) => {
  if (keys.client_id === null && keys.audience === null) tell('client_id or audience is required');
});

/** Section 4 of the key table. */
export const featureSections = {
  result_storage: resultStorage,
  result_channel: z.strictObject({ max_slots: int(10_000, 1), slot_ttl_secs: int(600, 1) }),
  slack: z.strictObject({
    bot_token: textOrEmpty(''),
    signing_secret: textOrEmpty(''),
    channel: textOr('#db-approvals'),
    api_base_url: textOr('https://slack.com/api/', rules.guardedUrl),
    onboarding,
  }),
  console: z.strictObject({
    enabled: bool(true),
    session_secs: int(43_200, 60, 604_800),
    max_streams: int(1000, 1, 100_000),
  }),
  mcp: z.strictObject({
    enabled: bool(true),
    allowed_origins: list(rules.origin),
    default_environment: textOr('development', rules.name),
    session_ttl_secs: int(3600, 10, 2_000_000),
    max_sessions: int(1000, 1),
    elicitation_timeout_secs: int(300, 10),
    replay_buffer_size: int(100, 1, 10_000),
  }),
};

/** `[auth]` without its lists of roles and groups. */
export const authSection = z.strictObject({
  default_role: optionalText(rules.roleName),
  token_policy: optionalSection(z.strictObject({ max_active_tokens_per_user: int(5, 0, undefined, '; 0 = no limit') })),
  oidc: oidc.nullable().default(null),
});
