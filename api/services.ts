import type { Logger } from 'pino';
import type { Config } from '../config/types.js';
import { createErrands } from '../lib/errands.js';
import type { Releases } from '../lib/releases.js';
import { openAuditKeys } from '../runtime/audit-keys.js';
import { createAuthFailureLog } from '../runtime/auth-failures.js';
import { openConfiguration } from '../runtime/configuration.js';
import { type GatewayDatabase, openGatewayDatabase } from '../runtime/gateway-database.js';
import { openLastHour } from '../runtime/last-hour.js';
import { createLifecycle } from '../runtime/lifecycle.js';
import { createMetrics } from '../runtime/metrics.js';
import { createCodeLogin } from '../runtime/oidc/code-login.js';
import { openResultStore } from '../runtime/open-result-store.js';
import { createRateLimiter } from '../runtime/rate-limits/limiter.js';
import { type ReloadRecord, writeReloadRecord } from '../runtime/reload-record.js';
import { createRequestFeed } from '../runtime/request-feed.js';
import { type KeyRing, openKeyRing } from '../runtime/signing-keys.js';
import { createSlackClient } from '../runtime/slack-client.js';
import { openProcessTracing } from '../runtime/tracing.js';
import { version } from '../runtime/version.js';
import { createSqlClassifier } from '../sql/classify.js';
import { createReadyPolls } from './agent/ready-polls.js';
import { readConsoleFiles } from './console/files.js';
import type { Services, SigningKeys } from './context.js';
import { createEventStreams } from './events/streams.js';
import { bootstrap } from './identity/bootstrap.js';
import { createCallSigns } from './mcp/signs.js';
import { createKeyLines } from './requests/key-lines.js';
import { createTemporalReader } from './temporal.js';

export interface ServicesOptions {
  config: Config;
  forceBootstrap: boolean;
  log: Logger;
  /** Where the build of the web console lies; by default the one of this program. */
  consoleDist?: URL | undefined;
  /** Ends the wait for the database. */
  signal: AbortSignal;
}

export interface OpenedServices {
  services: Services;
  /** Reads `server.toml` again (CF-40). */
  reload(): void;
  drain(): void;
}

/** Opens what handlers need, in the order of OP-50, up to but not including the listener. */
export async function openServices(options: ServicesOptions, releases: Releases): Promise<OpenedServices> {
  const { config, log } = options;
  const metrics = createMetrics(version);
  // Closed last: what the others still do is traced too.
  const tracing = await openProcessTracing({ config, process: 'server', metrics, log }, releases);
  const gateway = await openGatewayDatabase(config, log, 'server', options.signal);
  releases.add(gateway.close);
  const { database, notifications } = gateway;
  const { signingKeys, auditKeys } = await gateway.patiently(() => openIdentity(options, gateway));
  const onEnd = (record: ReloadRecord) => writeReloadRecord(config.stateDir, record);
  const configuration = await openConfiguration({ config, gateway, metrics, log, onEnd }, releases);
  const classifier = await createSqlClassifier();
  releases.add(() => classifier.close());
  const temporal = createTemporalReader(config, metrics);
  releases.add(() => temporal.close());
  const { lifecycle, drain } = createLifecycle();
  const results = await openResultStore(config);
  const services: Services = {
    database,
    notifications,
    classifier,
    config: configuration.config,
    generation: configuration.generation,
    signingKeys,
    auditKeys,
    results,
    metrics,
    tracing,
    log,
    codeLogin: createCodeLogin(gateway.secretKey),
    lifecycle,
    consoleFiles: await readConsoleFiles(options.consoleDist),
    temporal,
    version,
    ...openBeside({ database, metrics, log }, releases),
    ...inMemory({ database, notifications, metrics, log }, configuration.config),
  };
  return { services, reload: configuration.reload, drain };
}

/** What goes on beside the calls. */
function openBeside({ database, metrics, log }: Pick<Services, 'database' | 'metrics' | 'log'>, releases: Releases) {
  const authFailures = createAuthFailureLog({ database, metrics, log });
  releases.add(authFailures.close);
  const lastHour = openLastHour({ database, log });
  releases.add(lastHour.close);
  const callSigns = createCallSigns({ database, log });
  releases.add(callSigns.close);
  const errands = createErrands();
  releases.add(errands.done);
  return { authFailures, lastHour, callSigns, errands };
}

/** What needs no release. */
function inMemory(
  { database, notifications, metrics, log }: Pick<Services, 'database' | 'notifications' | 'metrics' | 'log'>,
  config: () => Config,
) {
  return {
    limiter: createRateLimiter({ database, metrics, log }, config),
    keyLines: createKeyLines(),
    requestFeed: createRequestFeed({ database, notifications, log }),
    eventStreams: createEventStreams(metrics),
    readyPolls: createReadyPolls(),
    slack: createSlackClient(() => config().slack),
  };
}

/** Signing keys, then the first user and tokens (OP-50). */
async function openIdentity(
  { config, forceBootstrap, log }: ServicesOptions,
  { database, secretKey }: Pick<GatewayDatabase, 'database' | 'secretKey'>,
): Promise<Pick<Services, 'signingKeys' | 'auditKeys'>> {
  const warn = (text: string) => log.warn({}, text);
  const keys = await openKeyRing({ database, purpose: 'execution_token', secretKey });
  const auditKeys = await openAuditKeys({ database, secretKey, publicKeys: config.security.auditPublicKeys });
  await bootstrap({ database, config, force: forceBootstrap, warn });
  return { signingKeys: signingKeysOf(keys), auditKeys };
}

function signingKeysOf(keys: KeyRing): SigningKeys {
  return {
    signer: keys.signer,
    everyRow: keys.everyRow,
    publicKeys: async () =>
      (await keys.rows()).flatMap(({ keyId, publicKey, status, notAfter }) =>
        status === 'retired' || status === 'revoked'
          ? []
          : [{ keyId, publicKeyHex: publicKey, status, notAfter: status === 'retiring' ? notAfter : null }],
      ),
  };
}
