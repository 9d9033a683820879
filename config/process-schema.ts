import { z } from 'zod';
import { maxAgentScopes } from '../domain/agent-scopes.js';
import { collectorProblem } from '../domain/collector-address.js';
import { isPrivateHost } from './addresses.js';
import { bool, choice, commandLine, int, list, optionalText, ratio, text, textOr, textOrEmpty } from './fields.js';
import { optionalSection, withRule } from './table-rules.js';
import * as rules from './text-rules.js';

/** The sections that CF-50 guards, by their names in `allow_empty`. */
export const GUARDED_SECTIONS = [
  'databases',
  'auth.roles',
  'auth.groups',
  'workflows',
  'execution_policies',
  'result_policies',
  'webhooks',
  'notification_policies',
] as const;

const guardedSection = rules.told(
  (name) => (GUARDED_SECTIONS.some((known) => known === name) ? null : `must be one of ${GUARDED_SECTIONS.join(', ')}`),
  GUARDED_SECTIONS.join(', '),
);

const noLimit = '; 0 = no limit';

/** Keys above the first section. */
export const rootKeys = {
  state_dir: text(rules.stateDir),
  trusted_proxies: list(rules.addressOrCidr),
  allow_private_networks: bool(false),
  allow_empty: list(guardedSection),
};

const tlsFiles = optionalSection(
  withRule(
    z.strictObject({ ca: optionalText(), cert: optionalText(), key: optionalText(), server_name: optionalText() }),
    ['cert', 'key'],
    ({ cert, key }, tell) => {
      if ((cert === null) !== (key === null)) tell('cert and key must be set together');
    },
  ),
);

const bootstrap = withRule(
  z.strictObject({ admin_token: optionalText(rules.apiToken), agent_token: optionalText(rules.apiToken) }),
  ['admin_token', 'agent_token'],
  (tokens, tell) => {
    if (tokens.admin_token !== null && tokens.admin_token === tokens.agent_token)
      tell('must differ from admin_token', ['agent_token']);
  },
);

const agents = withRule(
  z.strictObject({
    min_version: textOr('0.0.0', rules.semanticVersion),
    default_scopes: list(rules.agentScope),
    require_scopes: bool(false),
  }),
  ['default_scopes'],
  ({ default_scopes: scopes }, tell) => {
    if (scopes.length > maxAgentScopes) tell(`must have at most ${maxAgentScopes} entries`, ['default_scopes']);
  },
);

const auditKeys = z.strictObject({
  redaction: choice(['literals', 'full', 'none'], 'literals'),
  origin: optionalText(rules.logOrigin),
  anchor_command: commandLine(rules.argument),
  anchor_url: optionalText(rules.anchorUrl),
  anchor_token: optionalText(rules.bearerToken),
  anchor_timeout_secs: int(60, 1, 600),
});

/** AU-89. */
const audit = withRule(auditKeys, ['anchor_command', 'anchor_url', 'anchor_token'], (keys, tell) => {
  const { anchor_command: command, anchor_url: url, anchor_token: token } = keys;
  if (command.length > 0 && url !== null) tell('anchor_command and anchor_url must not both be set');
  if (token === null) return;
  if (url === null) tell('needs anchor_url', ['anchor_token']);
  else if (new URL(url).protocol === 'http:' && !isPrivateHost(new URL(url).hostname))
    tell('must be https with anchor_token, except for loopback and private hosts', ['anchor_url']);
});

/** OP-94. */
const telemetry = withRule(
  z.strictObject({ otlp_endpoint: optionalText(rules.collectorUrl), sample_ratio: ratio(1), allow_insecure: bool(false) }),
  ['otlp_endpoint', 'allow_insecure'],
  ({ otlp_endpoint: endpoint, allow_insecure: allowsPlain }, tell) => {
    const problem = endpoint === null ? null : collectorProblem(endpoint, allowsPlain);
    if (problem !== null) tell(problem, ['otlp_endpoint']);
  },
);

/** Sections 2 and 3 of the key table, without `[auth]`. */
export const processSections = {
  server: z.strictObject({
    listen: textOr('127.0.0.1:3000', rules.hostPort),
    public_docs: bool(false),
    drain_secs: int(20, 0, 600),
    public_url: optionalText(rules.httpUrl),
  }),
  worker: z.strictObject({
    listen: textOrEmpty('127.0.0.1:3001', rules.hostPort, '; `""` = off'),
    max_concurrent_activities: int(100, 1, 10_000, '; never more than `database.pool_max` at work'),
  }),
  database: z.strictObject({
    url: text(rules.databaseUrl),
    pool_max: int(20, 2, 1000),
    connect_timeout_secs: int(3, 1, 60),
    pool_wait_secs: int(3, 1, 60),
    statement_timeout_secs: int(10, 1, 60),
    start_wait_secs: int(60, 0, undefined, noLimit),
    ca_file: optionalText(),
  }),
  temporal: z.strictObject({
    address: textOr('localhost:7233', rules.hostPort),
    namespace: textOr('default'),
    task_queue: textOr('svc'),
    tls: bool(false),
    tls_files: tlsFiles,
    api_key: optionalText(),
    call_timeout_secs: int(3, 1, 30),
    max_backlog: int(10_000, 100, 1_000_000),
    ui_url: optionalText(rules.httpUrl),
  }),
  security: z.strictObject({ secret_key_file: optionalText(), audit_public_keys: list(rules.hex64) }),
  bootstrap,
  logging: z.strictObject({
    level: choice(['error', 'warn', 'info', 'debug'], 'info'),
    format: choice(['text', 'json'], 'text'),
  }),
  telemetry,
  license: z.strictObject({ key: optionalText(), public_key: optionalText(rules.hex64) }),
  rate_limits: z.strictObject({
    enabled: bool(true),
    store: choice(['postgres', 'memory'], 'postgres'),
    per_token: int(60_000, 0, undefined, noLimit),
    per_agent_token: int(120_000, 0, undefined, noLimit),
    per_address: int(240_000, 0, undefined, noLimit),
    auth_failures_per_address: int(300, 0, undefined, noLimit),
  }),
  preflight: z.strictObject({
    max_concurrent_per_user: int(3, 1, 100),
    max_explain_timeout_ms: int(10_000, 100, 20_000),
    rate_limit_per_minute: int(0, 0, undefined, noLimit),
  }),
  agents,
  retention: z.strictObject({
    request_ttl_days: int(90, 1, 3650),
    audit_ttl_days: int(365, 1, 3650),
    result_ttl_days: int(30, 1, 3650),
    approval_ttl_secs: int(86_400, 1),
  }),
  audit,
};
