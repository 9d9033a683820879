import pg, { type PoolClient } from 'pg';
import { within } from '../../../lib/deadline.js';
import { createPermits } from '../../../lib/permits.js';
import { ConnectionLost, RowTooLarge } from '../faults.js';
import type { PoolOptions, Session, SessionPool } from '../session.js';
import { type Backend, connectionConfig, learnBackend, type TappedClient, tappedClient } from './client.js';
import { asServerError, connectFailure } from './errors.js';
import { Exchange, type Step, type StepResult } from './exchange.js';
import { DEFAULT_SEARCH_PATH, differs, type FixedSettings, fixedSettings } from './settings.js';

const CLOSE_MS = 3000;

/** A pool of sessions that read every text the same way, with the fixed text forms of section 10. */
export function createSessionPool(options: PoolOptions & { searchPath?: string }): SessionPool<PostgresSession> {
  const Client = tappedClient(options.maxRowBytes);
  const fixed = fixedSettings(options.searchPath ?? DEFAULT_SEARCH_PATH, options.readOnly);
  const config = { ...connectionConfig(options, fixed), Client };
  const greet = (client: object) => learnBackend(client as TappedClient, fixed, options.connectTimeoutMs);
  const pool = new pg.Pool({ ...config, max: options.max, idleTimeoutMillis: 300_000, onConnect: greet });
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
        return new PostgresSession(client as PoolClient & TappedClient, fixed, giveBack);
      } catch (error) {
        permits.give();
        throw connectFailure(error);
      }
    },
    async open() {
      let client: InstanceType<typeof Client> | undefined;
      try {
        // Reads the files that the address names.
        client = new Client(config);
        await client.connect();
        await greet(client);
      } catch (error) {
        client?.connection.stream.destroy();
        throw connectFailure(error);
      }
      const opened = client;
      return new PostgresSession(opened, fixed, () => void opened.end().catch(() => {}));
    },
    // A session that is never returned must not keep the process alive.
    close: () => within(pool.end(), CLOSE_MS, undefined),
  };
}

/** One connection, held by one job. */
export class PostgresSession implements Session {
  searchPath: string | null = null;
  readonly #client: TappedClient;
  readonly #fixed: FixedSettings;
  readonly #giveBack: (destroy: boolean) => void;
  readonly #onError: () => void;
  #lost = false;
  #doubtful = false;
  #current: Exchange | null = null;
  readonly #onNoData = () => this.#current?.handleNoData();

  constructor(client: TappedClient, fixed: FixedSettings, giveBack: (destroy: boolean) => void) {
    this.#client = client;
    this.#fixed = fixed;
    this.#giveBack = giveBack;
    this.#onError = () => {
      this.#lost = true;
    };
    client.on('error', this.#onError);
    client.connection.on('noData', this.#onNoData);
  }

  get backend(): Backend {
    return this.#client.backend;
  }

  /** Where a cancel request for this session goes, and what it contains. */
  get cancelTarget(): { host: string; port: number; processId: number; secretKey: number } {
    const { host, port, processID, secretKey } = this.#client;
    return { host, port, processId: processID, secretKey };
  }

  get lost(): boolean {
    return this.#lost;
  }

  /**
   * A step before each further statement of a transaction: a function of the previous statement may have changed settings
   * (HD-30).
   */
  get keepMeaning(): Step {
    return this.#fixed.keepMeaning(this.backend);
  }

  /** The same for a migration's texts, which may change settings for each other. */
  get keepReading(): Step {
    return this.#fixed.keepReading(this.backend);
  }

  /** Runs the steps in one round trip; throws the server's error, RowTooLarge or ConnectionLost. */
  async exchange(steps: readonly Step[]): Promise<StepResult[]> {
    const exchange = new Exchange(steps, this.#client.tap);
    this.#current = exchange;
    this.#client.query(exchange);
    try {
      return await exchange.done;
    } catch (error) {
      if (this.#client.tap.tooLarge) throw new RowTooLarge();
      if (asServerError(error)) throw error;
      this.#lost = true;
      throw new ConnectionLost((error as NodeJS.ErrnoException).code ?? 'closed by the server');
    } finally {
      this.#current = null;
    }
  }

  async query(text: string, values: readonly string[] = []): Promise<(string | null)[][]> {
    const [result] = await this.exchange([{ kind: 'run', text, values }]);
    return result?.rows ?? [];
  }

  distrust(): void {
    this.#doubtful = true;
  }

  destroy(): void {
    this.#lost = true;
    this.#client.connection.stream.destroy();
  }

  async release(): Promise<void> {
    const reset = this.#lost || this.#doubtful ? false : await this.#reset();
    this.#client.connection.off('noData', this.#onNoData);
    this.#client.off('error', this.#onError);
    this.#giveBack(!reset);
  }

  async #reset(): Promise<boolean> {
    try {
      if (this.#client.getTransactionStatus() !== 'I') await this.query('rollback');
      await this.checkSettings(['discard all', ...this.backend.settings]);
      return true;
    } catch {
      return false;
    }
  }

  /** Throws a ConnectFailure when a setting is wrong after these statements (HD-30). */
  async checkSettings(statements: readonly string[] = []): Promise<void> {
    const steps = statements.map((text): Step => ({ kind: 'run', text }));
    const results = await this.exchange([...steps, this.#fixed.look]);
    const problem = this.#fixed.problemIn(results.at(-1)?.rows[0], this.backend);
    if (problem !== null) throw differs(problem);
  }
}
