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
  readonly config: DatabaseConfig;
  readonly driver: Driver;
  readonly degraded: boolean;
  readonly markerReady: boolean;
  /** Records how a run went: two connectivity failures in a row degrade the database (AP-15). */
  noteRun(connectivityFailure: boolean): void;
  /** Makes the marker table again where a run found none (AP-51). */
  lookForMarkers(): Promise<void>;
  /** Tries once to connect; throws a ConnectFailure. */
  connect(): Promise<void>;
  /** Keeps the connections open until the returned function is called, also when a reload removes the database (AP-19). */
  hold(): () => void;
}

export interface TargetDependencies {
  config: AgentConfig;
  timings: Timings;
  log: Log;
}

export class DatabaseTarget implements Target {
  readonly name: string;
  readonly database: string;
  readonly environment: string;
  readonly config: DatabaseConfig;
  readonly driver: Driver;
  degraded = true;
  markerReady = false;
  #failuresInRow = 0;
  #reconnecting = false;
  #looking = false;
  readonly #warnings = new Set<string>();
  #onRecovered: (() => void) | null = null;
  readonly #ended = new AbortController();
  #holders = 0;
  #onUnheld = () => {};
  #left: Promise<void> | null = null;
  readonly #dependencies: TargetDependencies;

  constructor(one: DatabaseConfig, dependencies: TargetDependencies) {
    this.name = `${one.database}/${one.environment}`;
    this.database = one.database;
    this.environment = one.environment;
    this.config = one;
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

  /** From now on reconnects it whenever it is degraded, looks for markers while there are none, and deletes old marker rows. */
  watch(onRecovered: () => void): void {
    this.#onRecovered = onRecovered;
    if (this.degraded) void this.#reconnect();
    void this.#retryMarkers();
    void this.#cleanUp();
  }

  noteRun(connectivityFailure: boolean): void {
    this.#failuresInRow = connectivityFailure ? this.#failuresInRow + 1 : 0;
    if (this.#failuresInRow < 2 || this.degraded) return;
    this.degraded = true;
    this.#dependencies.log.warn('database is degraded', { database: this.name });
    void this.#reconnect();
  }

  hold(): () => void {
    this.#holders++;
    return () => {
      this.#holders--;
      if (this.#holders === 0) this.#onUnheld();
    };
  }

  /** Ends its upkeep at once, and its connections when nobody holds them any more. */
  leave(): Promise<void> {
    this.#ended.abort();
    this.#left ??= this.#closeUnheld();
    return this.#left;
  }

  /** Ends all of it now. */
  async close(): Promise<void> {
    this.#ended.abort();
    await this.driver.close();
  }

  async #closeUnheld(): Promise<void> {
    if (this.#holders > 0) {
      await new Promise<void>((resolve) => {
        this.#onUnheld = resolve;
      });
    }
    await this.driver.close();
  }

  async #reconnect(): Promise<void> {
    const { log, timings } = this.#dependencies;
    const { signal } = this.#ended;
    if (!this.#onRecovered || this.#reconnecting) return;
    this.#reconnecting = true;
    let told = '';
    while (!signal.aborted && this.degraded) {
      try {
        await this.connect();
        if (signal.aborted) return;
        log.info('database is back', { database: this.name });
        this.#onRecovered();
      } catch (error) {
        const why = (error as Error).message;
        log[why === told ? 'debug' : 'warn']('database not reached', { database: this.name, why });
        told = why;
        await sleep(timings.reconnectMs, signal);
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

  #warnOnce(message: string, why: string | null): void {
    if (this.#warnings.has(message)) return;
    this.#warnings.add(message);
    this.#dependencies.log.warn(message, { database: this.name, why });
  }

  #noteMarker({ markerReady, markerProblem }: Connected): void {
    this.markerReady = markerReady;
    if (markerReady || this.#dependencies.config.marker.mode === 'off') return;
    this.#warnOnce('no marker rows can be written: a lost attempt there can never be proven', markerProblem);
  }

  /** Somebody may grant a right, or promote a standby, without a connection that breaks (AP-51). */
  async #retryMarkers(): Promise<void> {
    const { config, timings } = this.#dependencies;
    while (config.marker.mode !== 'off' && !this.#ended.signal.aborted) {
      await sleep(timings.markerRetryMs, this.#ended.signal);
      if (!this.markerReady) await this.lookForMarkers();
    }
  }

  async lookForMarkers(): Promise<void> {
    if (this.#ended.signal.aborted || this.degraded || this.#looking) return;
    this.#looking = true;
    // A database that is away is noticed by its runs.
    const connected = await this.driver.connect({ onlyLook: false }).catch(() => null);
    this.#looking = false;
    if (this.#ended.signal.aborted || connected === null) return;
    this.#noteMarker(connected);
    if (!this.markerReady) return;
    this.#dependencies.log.info('marker rows can be written', { database: this.name });
    this.#onRecovered?.();
  }

  async #cleanUp(): Promise<void> {
    const { timings, log } = this.#dependencies;
    const { signal } = this.#ended;
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
