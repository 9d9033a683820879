import type { Database } from '../../db/client.js';
import { eventually } from '../support/processes.js';
import type { Program } from '../support/program.js';
import type { System } from '../support/system.js';

/** The processes of the system that may be killed, by the names of their sessions. */
export const names = ['server-0', 'server-1', 'worker-0'] as const;

/** Longer than a restart takes on a busy machine. */
export const waitMs = 90_000;

/** A process that starts again at once each time it is killed. */
export class Victim {
  readonly name: string;
  readonly #program: Program & { url: string };
  readonly #database: Database;
  #ready: Promise<void> = Promise.resolve();
  isReady = true;

  constructor(name: string, program: Program & { url: string }, database: Database) {
    this.name = name;
    this.#program = program;
    this.#database = database;
  }

  /** Its address, once it serves there. */
  async url(): Promise<string> {
    await this.#ready;
    return this.#program.url;
  }

  /** kill -9; resolves when nothing that it began still runs in the database. By then it is starting again. */
  async kill(): Promise<void> {
    await this.#ready;
    this.isReady = false;
    await this.#program.kill();
    const sessions = () =>
      this.#database.query('select 1 from pg_stat_activity where datname = current_database() and application_name = $1', [
        this.name,
      ]);
    await eventually(async () => (await sessions()).length === 0, waitMs);
    this.#program.launch();
    this.#ready = this.#program.untilReady().then(() => {
      this.isReady = true;
    });
    // Whoever needs it next hears of it.
    this.#ready.catch(() => {});
  }
}

export function victimsOf({ servers, workers }: System, database: Database): Victim[] {
  return [...servers, ...workers].map((program, index) => new Victim(names[index]!, program, database));
}
