import { sleep } from '../lib/sleep.js';
import type { AgentConfig, DatabaseConfig } from './config-values.js';
import { createDriver } from './drivers/create.js';
import type { Connected, Driver } from './drivers/driver.js';
import type { Log } from './log.js';
import type { Timings } from './timings.js';

export interface Target {
  /** `<name>/<env>`; logs use no other name for a database (AP-03). */
  readonly name: string;
  readonly database: string;
  readonly environment: string;
  readonly driver: Driver;
  readonly degraded: boolean;
  readonly markerReady: boolean;
  /** Records how a run went: two connectivity failures in a row degrade the database (AP-15). */
  noteRun(connectivityFailure: boolean): void;
  /** Tries once to connect; throws a ConnectFailure. */
  connect(): Promise<void>;
}

export interface Databases {
  readonly all: readonly Target[];
  find(database: string, environment: string): Target | undefined;
  /** Marks unconnected databases as degraded and reconnects them until the signal aborts. Call it once, after startup. */
  watch(signal: AbortSignal, onRecovered: () => void): void;
  close(): Promise<void>;
}

interface Dependencies {
  config: AgentConfig;
  timings: Timings;
  log: Log;
}

/** Creates the configured databases, none of them connected yet. */
export function createDatabases(dependencies: Dependencies): Databases {
  const all = dependencies.config.databases.map((one) => new DatabaseTarget(one, dependencies));
  return {
    all,
    find: (database, environment) => all.find((one) => one.database === database && one.environment === environment),
    watch(signal, onRecovered) {
      for (const one of all) one.watch(signal, onRecovered);
    },
    async close() {
      await Promise.allSettled(all.map((one) => one.driver.close()));
    },
  };
}

class DatabaseTarget implements Target {
  readonly name: string;
  readonly database: string;
  readonly environment: string;
  readonly driver: Driver;
  degraded = true;
  markerReady = false;
  #failuresInRow = 0;
  #reconnecting = false;
  #warned = false;
  readonly #warnings = new Set<string>();
  #watcher: { signal: AbortSignal; onRecovered: () => void } | null = null;
  readonly #dependencies: Dependencies;

  constructor(one: DatabaseConfig, dependencies: Dependencies) {
    this.name = `${one.database}/${one.environment}`;
    this.database = one.database;
    this.environment = one.environment;
    this.driver = createDriver(one, dependencies.config, dependencies.timings);
    this.#dependencies = dependencies;
  }

  async connect(): Promise<void> {
    const connected = await this.driver.connect({ onlyLook: false });
    this.#noteMarker(connected);
    this.#noteProblems(connected);
    this.#failuresInRow = 0;
    this.degraded = false;
  }

  watch(signal: AbortSignal, onRecovered: () => void): void {
    this.#watcher = { signal, onRecovered };
    if (this.degraded) void this.#reconnect();
    void this.#cleanUp(signal);
  }

  noteRun(connectivityFailure: boolean): void {
    this.#failuresInRow = connectivityFailure ? this.#failuresInRow + 1 : 0;
    if (this.#failuresInRow < 2 || this.degraded) return;
    this.degraded = true;
    this.#dependencies.log.warn('database is degraded', { database: this.name });
    void this.#reconnect();
  }

  async #reconnect(): Promise<void> {
    if (!this.#watcher || this.#reconnecting) return;
    const { signal, onRecovered } = this.#watcher;
    this.#reconnecting = true;
    let told = '';
    while (!signal.aborted && this.degraded) {
      try {
        await this.connect();
        this.#dependencies.log.info('database is back', { database: this.name });
        onRecovered();
      } catch (error) {
        const why = (error as Error).message;
        this.#dependencies.log[why === told ? 'debug' : 'warn']('database not reached', { database: this.name, why });
        told = why;
        await sleep(this.#dependencies.timings.reconnectMs, signal);
      }
    }
    this.#reconnecting = false;
  }

  /** Logs each problem once, not on every reconnect. */
  #noteProblems({ readProblem, nameProblem, markerNote }: Connected): void {
    if (markerNote !== null) this.#warnOnce('markers lie beside the data', markerNote);
    if (readProblem !== null) this.#warnOnce('reads are not safe from writing', readProblem);
    if (nameProblem !== null) this.#warnOnce('names are found otherwise than role or database say', nameProblem);
  }

  #warnOnce(message: string, why: string): void {
    if (this.#warnings.has(message)) return;
    this.#warnings.add(message);
    this.#dependencies.log.warn(message, { database: this.name, why });
  }

  #noteMarker(connected: Connected): void {
    const { config, log } = this.#dependencies;
    this.markerReady = connected.markerReady;
    if (connected.markerReady || config.marker.mode === 'off' || this.#warned) return;
    this.#warned = true;
    log.warn('no marker rows can be written: a lost attempt there can never be proven', {
      database: this.name,
      why: connected.markerProblem,
    });
  }

  async #cleanUp(signal: AbortSignal): Promise<void> {
    const { timings, log } = this.#dependencies;
    while (!signal.aborted) {
      if (this.markerReady && !this.degraded) {
        try {
          const deleted = await this.driver.deleteOldMarkers();
          if (deleted > 0) log.info('old marker rows deleted', { database: this.name, rows: deleted });
        } catch (error) {
          log.warn('old marker rows not deleted', { database: this.name, why: this.driver.errorText(error) });
        }
      }
      await sleep(timings.markerCleanupMs, signal);
    }
  }
}
