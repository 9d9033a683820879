import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { formatProblem, loadConfig } from '../config/index.js';
import { withClient } from './database-client.js';
import type { TemporalPlace } from './engines.js';
import type { GatewayPlan } from './gateway.js';
import { withIdentity } from './identity/plan.js';
import type { DemoIdentity } from './identity/provider.js';
import { clone, type Layout } from './layout.js';
import type { Passwords, ShopEnvironment } from './passwords.js';
import { freePort, underLocalhost } from './ports.js';
import type { PostgresServer } from './postgres.js';
import { shopRoles } from './shop-roles.js';

/** Placeholder for a database that the given file leaves to the embedded engines. */
const absentDatabase = 'postgres://absent@127.0.0.1:1/absent';
const absentTemporal = '127.0.0.1:1';

export interface GivenConfig {
  file: string;
  /** What the file leaves to the embedded engines. */
  needs: { postgres: boolean; temporal: boolean };
  serverUrl: string;
  workerUrl: string | null;
  agentConfig: string | null;
}

/** Reads a user's own `server.toml` for `svc dev --config`; throws its errors, one per line. */
export function readGivenConfig(file: string): GivenConfig {
  const environment = { ...process.env, SVC_DEV_DATABASE_URL: absentDatabase, SVC_DEV_TEMPORAL_ADDRESS: absentTemporal };
  const loaded = loadConfig(file, environment);
  if (!loaded.ok) throw new Error(loaded.errors.map(formatProblem).join('\nerror: '));
  const { config } = loaded;
  const agentConfig = join(dirname(resolve(file)), 'agent.toml');
  return {
    file: resolve(file),
    needs: { postgres: config.database.url === absentDatabase, temporal: config.temporal.address === absentTemporal },
    serverUrl: `http://${reachable(process.env.PORT ? `127.0.0.1:${process.env.PORT}` : config.server.listen)}`,
    workerUrl: config.worker.listen === null ? null : `http://${reachable(config.worker.listen)}`,
    agentConfig: existsSync(agentConfig) ? agentConfig : null,
  };
}

/** The gateway of a given file: its own settings, and embedded engines for what it does not name. */
export function planGiven(given: GivenConfig, databaseUrl: string | null, temporal: TemporalPlace | null): GatewayPlan {
  const environment: NodeJS.ProcessEnv = { ...process.env };
  if (databaseUrl !== null) environment.SVC_DEV_DATABASE_URL = databaseUrl;
  if (temporal !== null) environment.SVC_DEV_TEMPORAL_ADDRESS = temporal.address;
  return {
    serverConfig: given.file,
    listen: process.env.PORT ? `127.0.0.1:${process.env.PORT}` : null,
    serverUrl: given.serverUrl,
    workerUrl: given.workerUrl,
    environment,
    agent:
      given.agentConfig === null
        ? null
        : { config: given.agentConfig, readyFile: null, environment: process.env, prepare: async () => {} },
  };
}

export interface DemoPlaces {
  apiPort: number;
  postgres: PostgresServer;
  passwords: Passwords;
  databaseUrl: string;
  temporal: TemporalPlace;
  /** Absent: nobody logs in. */
  identity?: DemoIdentity | null;
}

/**
 * The demo: the committed files, with variables that only these processes get. The agent gets nothing about the gateway's
 * database.
 */
export async function planDemo(layout: Layout, places: DemoPlaces): Promise<GatewayPlan> {
  const serverUrl = `http://127.0.0.1:${places.apiPort}`;
  const workerListen = `127.0.0.1:${await freePort()}`;
  const withLogins = places.identity ? withIdentity(layout, places.identity) : null;
  const environment = {
    ...process.env,
    ...withLogins?.environment,
    SVC_DEV_STATE_DIR: layout.state,
    SVC_DEV_LISTEN: `127.0.0.1:${places.apiPort}`,
    SVC_DEV_SERVER_URL: underLocalhost(serverUrl),
    SVC_DEV_WORKER_LISTEN: workerListen,
    SVC_DEV_DATABASE_URL: places.databaseUrl,
    SVC_DEV_TEMPORAL_ADDRESS: places.temporal.address,
    SVC_DEV_TEMPORAL_UI_URL: places.temporal.uiUrl ?? '',
  };
  return {
    serverConfig: withLogins?.serverConfig ?? join(clone, 'dev', 'server.toml'),
    listen: null,
    serverUrl,
    workerUrl: `http://${workerListen}`,
    environment,
    agent: {
      config: join(clone, 'dev', 'agent.toml'),
      readyFile: join(layout.run, 'svc-agent-ready'),
      environment: { ...process.env, ...agentVariables(layout, serverUrl, places) },
      prepare: () => writeTrustedKeys(places.databaseUrl, trustedKeysFile(layout)),
    },
  };
}

const trustedKeysFile = (layout: Layout) => join(layout.run, 'trusted-keys');

/**
 * Writes the public keys allowed to sign, one per line, for the agent to pin (HD-80). Reads them from where they are stored, not
 * from the server that they verify.
 */
async function writeTrustedKeys(databaseUrl: string, file: string): Promise<void> {
  const keys = await withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<{ key: string }>(
      `select public_key as key from signing_keys where purpose = 'execution_token' and status in ('next', 'current', 'retiring') order by created_at desc`,
    );
    return rows.map(({ key }) => key);
  });
  writeFileSync(file, `${keys.join('\n')}\n`, { mode: 0o600 });
}

function agentVariables(layout: Layout, serverUrl: string, { postgres, passwords }: DemoPlaces): NodeJS.ProcessEnv {
  const url = (environment: ShopEnvironment, kind: 'rw' | 'ro') =>
    postgres.url(`shop_${environment}`, shopRoles(environment)[kind], passwords.shop[environment][kind]);
  return {
    SVC_DEV_SERVER_URL: serverUrl,
    SVC_DEV_AGENT_TOKEN_FILE: join(layout.state, 'agent-token'),
    SVC_DEV_TRUSTED_KEYS_FILE: trustedKeysFile(layout),
    SVC_DEV_PROBES_DIR: layout.run,
    SVC_DEV_SHOP_STAGING_URL: url('staging', 'rw'),
    SVC_DEV_SHOP_STAGING_READ_URL: url('staging', 'ro'),
    SVC_DEV_SHOP_PRODUCTION_URL: url('production', 'rw'),
    SVC_DEV_SHOP_PRODUCTION_READ_URL: url('production', 'ro'),
  };
}

/** The address on this machine of a listener on all addresses. */
function reachable(listen: string): string {
  return listen.replace(/^(0\.0\.0\.0|\[::\]):/, '127.0.0.1:');
}
