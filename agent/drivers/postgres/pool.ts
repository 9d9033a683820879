import pg, { type PoolClient } from 'pg';
import { within } from '../../../lib/deadline.js';
import { createPermits } from '../../../lib/permits.js';
import type { PoolOptions, SessionPool } from '../session.js';
import { connectionConfig, learnBackend, type TappedClient, tappedClient } from './client.js';
import { connectFailure } from './errors.js';
import { PostgresSession } from './session.js';
import { DEFAULT_SEARCH_PATH, type FixedSettings, fixedSettings } from './settings.js';

const IDLE_MS = 300_000;
const CLOSE_MS = 3000;

/** A pool of sessions that read every text the same way, with the fixed text forms of agent-process.md section 10. */
export function createPostgresPool(options: PoolOptions & { searchPath?: string }): SessionPool<PostgresSession> {
  const how = connectingBy(options);
  const { config, fixed, greet } = how;
  const pool = new pg.Pool({ ...config, max: options.max, idleTimeoutMillis: IDLE_MS, onConnect: greet });
  // An idle connection that ends leaves the pool by itself.
  pool.on('error', () => {});
  // The pool's own queue counts waiting as connecting, and would apply the connect timeout to it.
  const permits = createPermits(options.max);
  return {
    async acquire(signal) {
      if (!(await permits.take(signal))) return null;
      try {
        const client = await pool.connect();
        const giveBack = (destroy: boolean) => {
          client.release(destroy);
          permits.give();
        };
        return new PostgresSession(client as PoolClient & TappedClient, fixed, giveBack, options.connectTimeoutMs);
      } catch (error) {
        permits.give();
        throw connectFailure(error);
      }
    },
    open: () => openAlone(how),
    // A session that is never returned must not keep the process alive.
    close: () => within(pool.end(), CLOSE_MS, undefined),
  };
}

interface Connecting {
  timeoutMs: number;
  config: ReturnType<typeof connectionConfig> & { Client: ReturnType<typeof tappedClient> };
  fixed: FixedSettings;
  /** Learns who answered, and sets what is fixed. */
  greet: (client: object) => Promise<void>;
}

function connectingBy(options: PoolOptions & { searchPath?: string }): Connecting {
  const fixed = fixedSettings(options.searchPath ?? DEFAULT_SEARCH_PATH, options.readOnly);
  return {
    timeoutMs: options.connectTimeoutMs,
    config: { ...connectionConfig(options, fixed), Client: tappedClient(options.maxRowBytes) },
    fixed,
    greet: (client) => learnBackend(client as TappedClient, fixed, options.connectTimeoutMs),
  };
}

async function openAlone({ timeoutMs, config, fixed, greet }: Connecting): Promise<PostgresSession> {
  let client: InstanceType<typeof config.Client> | undefined;
  try {
    // Reads the files that the address names.
    client = new config.Client(config);
    await client.connect();
    await greet(client);
  } catch (error) {
    client?.connection.stream.destroy();
    throw connectFailure(error);
  }
  const opened = client;
  return new PostgresSession(opened, fixed, () => void opened.end().catch(() => {}), timeoutMs);
}
