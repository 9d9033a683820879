import { dirname, resolve } from 'node:path';
import { camelKeys } from './camel.js';
import type { CompleteDraft, Draft } from './draft.js';
import { buildShared } from './shared.js';
import type { Config, OidcConfig } from './types.js';

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * The configuration of a file without errors, frozen at every depth. `file` is absolute; relative paths start in its folder
 * (CF-2).
 */
export function buildConfig({ sections, lists }: CompleteDraft, file: string, environment: Variables): Config {
  const path = (name: string) => resolve(dirname(file), name);
  const optionalPath = (name: string | null) => (name === null ? null : path(name));
  const { root, auth, ...others } = sections;
  const { temporal, worker, database, security, license, resultStorage, logging, audit, ...plain } = camelKeys(others);
  const stateDir = path(root.state_dir);
  const config: Config = {
    file,
    stateDir,
    trustedProxies: root.trusted_proxies,
    allowPrivateNetworks: root.allow_private_networks,
    allowEmpty: root.allow_empty,
    ...plain,
    worker: { ...worker, listen: worker.listen === '' ? null : worker.listen },
    database: { ...database, caFile: optionalPath(database.caFile) },
    temporal: buildTemporal(temporal, optionalPath),
    security: {
      secretKey: environment.SVC_SECRET_KEY?.toLowerCase() || null,
      secretKeyFile: path(security.secretKeyFile ?? `${root.state_dir}/secret.key`),
      secretKeyFileNamed: security.secretKeyFile !== null,
      auditPublicKeys: security.auditPublicKeys.map((hex) => hex.toLowerCase()),
    },
    audit: {
      ...audit,
      origin: audit.origin ?? defaultOrigin(plain.server.publicUrl),
      anchorCommand: audit.anchorCommand.map((word, at) => (at === 0 && word.includes('/') ? path(word) : word)),
    },
    license: { ...license, key: license.key ?? (environment.SVC_LICENSE_KEY || null) },
    resultStorage: { ...resultStorage, rootDir: path(resultStorage.rootDir ?? `${root.state_dir}/results`) },
    logging: {
      level: oneOf(['error', 'warn', 'info', 'debug'], environment.SVC_LOG_LEVEL) ?? logging.level,
      format: oneOf(['text', 'json'], environment.SVC_LOG_FORMAT) ?? logging.format,
    },
    auth: { tokenPolicy: camelKeys(auth.token_policy), oidc: auth.oidc === null ? null : buildOidc(auth.oidc) },
    webhooks: lists.webhooks.map(({ value }) => value),
    shared: buildShared({ sections, lists }),
  };
  return deepFreeze(config);
}

/** Whatever only makes sense with TLS switches it on. */
function buildTemporal(temporal: Config['temporal'], path: (name: string | null) => string | null): Config['temporal'] {
  const { ca, cert, key, serverName } = temporal.tlsFiles;
  return {
    ...temporal,
    tls: temporal.tls || [temporal.apiKey, ca, cert, key, serverName].some((value) => value !== null),
    tlsFiles: { ca: path(ca), cert: path(cert), key: path(key), serverName },
  };
}

/** AU-81. */
const defaultOrigin = (publicUrl: string | null) => (publicUrl === null ? 'svc' : new URL(publicUrl).host);

function buildOidc(oidc: NonNullable<CompleteDraft['sections']['auth']['oidc']>): OidcConfig {
  const { issuerUrl, issuer, ...others } = camelKeys(oidc);
  return { ...others, issuer: issuer ?? issuerUrl ?? '', defaultRole: others.defaultRole === '' ? null : others.defaultRole };
}

/** Without errors every section was read. */
export const isComplete = (draft: Draft, errors: number): draft is CompleteDraft => errors === 0;

const oneOf = <T extends string>(values: readonly T[], text: string | undefined) => values.find((value) => value === text);

export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const item of Object.values(value)) deepFreeze(item);
    Object.freeze(value);
  }
  return value;
}
