import { z } from 'zod';
import { bool, choice, int, list, optionalSection, optionalText, text, textOr, textOrEmpty } from './fields.js';
import * as rules from './text-rules.js';

const resultStorage = z
  .strictObject({
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
  })
  .refine((keys) => (keys.access_key_id === null) === (keys.secret_access_key === null), {
    message: 'access_key_id and secret_access_key must be set together',
  });

const onboarding = optionalSection(
  z
    .strictObject({
      enabled: bool(false),
      assignable_roles: list(rules.roleName),
      restricted_roles: list(rules.roleName),
      assignable_groups: list(rules.groupName),
      request_ttl_hours: int(72, 1, 8760),
    })
    .superRefine((keys, context) => {
      keys.restricted_roles.forEach((role, index) => {
        if (keys.assignable_roles.includes(role)) return;
        context.addIssue({ code: 'custom', message: 'must be one of assignable_roles', path: ['restricted_roles', index] });
      });
    }),
);

const oidc = z
  .strictObject({
    issuer: optionalText(rules.guardedUrl),
    issuer_url: optionalText(rules.guardedUrl),
    client_id: optionalText(),
    audience: optionalText(),
    jwks_uri: optionalText(rules.guardedUrl),
    default_role: textOrEmpty('approver', rules.roleName),
    subject_claim: textOr('sub'),
    groups_claim: textOr('groups'),
    link_existing_users: bool(false),
    role_mappings: z.array(z.strictObject({ claim: text(), value: text(), role: text(rules.roleName) })).default([]),
  })
  .superRefine((keys, context) => {
    const issue = (message: string, path: string[]) => context.addIssue({ code: 'custom', message, path });
    if (keys.issuer === null && keys.issuer_url === null) issue('is required', ['issuer']);
    if (keys.issuer !== null && keys.issuer_url !== null) issue('is there twice: issuer and issuer_url', ['issuer_url']);
    if (keys.client_id === null && keys.audience === null) issue('client_id or audience is required', []);
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
  mcp: z.strictObject({
    enabled: bool(true),
    allowed_origins: list(rules.origin),
    default_environment: textOr('development', rules.name),
    session_ttl_secs: int(3600, 10),
    max_sessions: int(1000, 1),
    elicitation_timeout_secs: int(300, 10),
    replay_buffer_size: int(100, 1, 10_000),
  }),
};

/** `[auth]` without its lists of roles and groups. */
export const authSection = z.strictObject({
  default_role: optionalText(rules.roleName),
  token_policy: optionalSection(z.strictObject({ max_active_tokens_per_user: int(5, 0) })),
  oidc: oidc.nullable().default(null),
});
