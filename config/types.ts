import type { SharedConfig, SharedWebhook } from '../domain/policies.js';
import type { Positions } from './positions.js';

/**
 * A finding about a configuration file, in the form of CF-60. Line and column count from 1; `key` is the key path, '' for the
 * whole file.
 */
export interface ConfigProblem {
  file: string;
  line: number;
  column: number;
  key: string;
  message: string;
  hint: string | null;
}

export type LoadedConfig =
  | { ok: true; config: Config; warnings: ConfigProblem[]; positions: Positions }
  | { ok: false; errors: ConfigProblem[]; warnings: ConfigProblem[] };

/** `[auth.oidc]`; `issuer_url` is read as `issuer`. */
export interface OidcConfig {
  issuer: string;
  clientId: string | null;
  /** For sign-ins of browsers (CO-14); null for a public client. */
  clientSecret: string | null;
  /** Asked for at such sign-ins, separated by spaces. */
  scopes: string;
  audience: string | null;
  jwksUri: string | null;
  /** null = switched off with `""` (IM-51). */
  defaultRole: string | null;
  subjectClaim: string;
  groupsClaim: string;
  linkExistingUsers: boolean;
  roleMappings: { claim: string; value: string; role: string }[];
}

/**
 * `server.toml` and the environment of CF-7 as one frozen object: the tree of the file in camelCase, with defaults, absolute
 * paths, and null for absent optional values. The `S` part is only in `shared`. Webhooks are in both places, with URL and secret
 * only here (CF-31).
 */
export interface Config {
  /** Absolute path of the file that was read. */
  file: string;
  stateDir: string;
  trustedProxies: string[];
  allowPrivateNetworks: boolean;
  allowEmpty: string[];
  server: { listen: string; publicDocs: boolean; drainSecs: number; publicUrl: string | null };
  /** `listen` null = off. */
  worker: { listen: string | null; maxConcurrentActivities: number };
  database: {
    url: string;
    poolMax: number;
    connectTimeoutSecs: number;
    poolWaitSecs: number;
    statementTimeoutSecs: number;
    /** 0 = for ever. */
    startWaitSecs: number;
    caFile: string | null;
  };
  temporal: {
    address: string;
    namespace: string;
    taskQueue: string;
    tls: boolean;
    tlsFiles: { ca: string | null; cert: string | null; key: string | null; serverName: string | null };
    apiKey: string | null;
    callTimeoutSecs: number;
    maxBacklog: number;
    uiUrl: string | null;
  };
  security: {
    /** `SVC_SECRET_KEY`, 64 hex; takes precedence over the file (ET-21). */
    secretKey: string | null;
    secretKeyFile: string;
    /** Whether the configuration names the file: a missing one is then an error (ET-21a). */
    secretKeyFileNamed: boolean;
    auditPublicKeys: string[];
  };
  bootstrap: { adminToken: string | null; agentToken: string | null };
  logging: { level: 'error' | 'warn' | 'info' | 'debug'; format: 'text' | 'json' };
  telemetry: { otlpEndpoint: string | null; sampleRatio: number; allowInsecure: boolean };
  license: { key: string | null; publicKey: string | null };
  rateLimits: {
    enabled: boolean;
    store: 'postgres' | 'memory';
    perToken: number;
    perAgentToken: number;
    perAddress: number;
    authFailuresPerAddress: number;
  };
  preflight: { maxConcurrentPerUser: number; maxExplainTimeoutMs: number; rateLimitPerMinute: number };
  agents: {
    minVersion: string;
    /** Of agent tokens made without scopes; empty = every pair (HD-10). */
    defaultScopes: string[];
    requireScopes: boolean;
  };
  retention: { requestTtlDays: number; auditTtlDays: number; resultTtlDays: number; approvalTtlSecs: number };
  audit: {
    redaction: 'literals' | 'full' | 'none';
    /** The name of the log in its checkpoints (AU-81). */
    origin: string;
    /** Program and arguments; empty = none. At most one of command and URL is set (AU-89). */
    anchorCommand: string[];
    anchorUrl: string | null;
    anchorToken: string | null;
    anchorTimeoutSecs: number;
  };
  resultStorage: {
    backend: 'local' | 's3';
    rootDir: string;
    bucket: string;
    region: string;
    prefix: string;
    endpoint: string | null;
    accessKeyId: string | null;
    secretAccessKey: string | null;
    pathStyle: boolean;
    maxPersistBytes: number;
  };
  resultChannel: { maxSlots: number; slotTtlSecs: number };
  slack: {
    botToken: string;
    signingSecret: string;
    channel: string;
    apiBaseUrl: string;
    onboarding: {
      enabled: boolean;
      assignableRoles: string[];
      restrictedRoles: string[];
      assignableGroups: string[];
      requestTtlHours: number;
    };
  };
  console: { enabled: boolean; sessionSecs: number; maxStreams: number };
  mcp: {
    enabled: boolean;
    allowedOrigins: string[];
    defaultEnvironment: string;
    sessionTtlSecs: number;
    maxSessions: number;
    elicitationTimeoutSecs: number;
    replayBufferSize: number;
  };
  auth: { tokenPolicy: { maxActiveTokensPerUser: number }; oidc: OidcConfig | null };
  webhooks: (SharedWebhook & { url: string; secret: string | null })[];
  shared: SharedConfig;
}
