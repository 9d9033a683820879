import type { DatabaseConfig } from './config-values.js';
import { DatabaseTarget, type Target, type TargetDependencies } from './target.js';

export interface Databases {
  /** Those of agent.toml, in its order. */
  readonly all: readonly Target[];
  /** Those that a reload took out of service, while a poll that was cut short may still have claimed for them (AP-19). */
  readonly leaving: readonly Target[];
  /** The one that a job of this pair runs on. */
  find(database: string, environment: string): Target | undefined;
  /** Marks unconnected databases as degraded and reconnects them. Call it once, after startup. */
  watch(onRecovered: () => void): void;
  /** Makes a database for `replace` or `release`; it is not connected yet. */
  make(one: DatabaseConfig): Target;
  /** Puts these in the place of all. Those that go are closed when their jobs have ended. */
  replace(next: readonly Target[]): void;
  /** Closes these when their jobs have ended. */
  release(targets: readonly Target[]): void;
  close(): Promise<void>;
}

/** Creates the configured databases, none of them connected yet. */
export function createDatabases(dependencies: TargetDependencies): Databases {
  return new ConfiguredDatabases(dependencies);
}

const samePair = (one: Target) => (other: Target) => one.database === other.database && one.environment === other.environment;

class ConfiguredDatabases implements Databases {
  all: readonly Target[];
  leaving: readonly Target[] = [];
  /** All that are not closed. */
  readonly #open = new Map<Target, DatabaseTarget>();
  readonly #dependencies: TargetDependencies;
  #onRecovered = () => {};

  constructor(dependencies: TargetDependencies) {
    this.#dependencies = dependencies;
    this.all = dependencies.config.databases.map((one) => this.make(one));
  }

  find(database: string, environment: string): Target | undefined {
    const is = (one: Target) => one.database === database && one.environment === environment;
    const found = this.all.find(is);
    return found && !found.degraded ? found : (this.leaving.find(is) ?? found);
  }

  watch(onRecovered: () => void): void {
    this.#onRecovered = onRecovered;
    for (const one of this.#open.values()) one.watch(onRecovered);
  }

  make(one: DatabaseConfig): Target {
    const made = new DatabaseTarget(one, this.#dependencies);
    this.#open.set(made, made);
    return made;
  }

  replace(next: readonly Target[]): void {
    const before = this.all;
    const isServed = (one: Target) => next.some((other) => !other.degraded && samePair(one)(other));
    const gone = [...this.leaving, ...before.filter((one) => !next.includes(one))];
    this.all = next;
    // If the pair is still served, a late claim runs on its new connection.
    this.leaving = gone.filter((one) => !one.degraded && !isServed(one));
    for (const one of next) if (!before.includes(one)) this.#open.get(one)?.watch(this.#onRecovered);
    this.release(gone.filter((one) => !this.leaving.includes(one)));
  }

  release(targets: readonly Target[]): void {
    this.leaving = this.leaving.filter((one) => !targets.includes(one));
    for (const one of targets) {
      const closed = () => this.#open.delete(one);
      this.#open.get(one)?.leave().then(closed, closed);
    }
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#open.values()].map((one) => one.close()));
  }
}
