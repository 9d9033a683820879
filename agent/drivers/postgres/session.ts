import { stopAfter } from '../../../lib/deadline.js';
import { ConnectionLost, RowTooLarge } from '../faults.js';
import type { Session } from '../session.js';
import type { Backend, TappedClient } from './client.js';
import { asServerError } from './errors.js';
import { Exchange, type Step, type StepResult } from './exchange.js';
import { differs, type FixedSettings } from './settings.js';

/** One connection, held by one job. */
export class PostgresSession implements Session {
  searchPath: string | null = null;
  readonly #client: TappedClient;
  readonly #fixed: FixedSettings;
  readonly #giveBack: (destroy: boolean) => void;
  readonly #resetMs: number;
  readonly #onError: () => void;
  #lost = false;
  #doubtful = false;
  #current: Exchange | null = null;
  readonly #onNoData = () => this.#current?.handleNoData();

  constructor(client: TappedClient, fixed: FixedSettings, giveBack: (destroy: boolean) => void, resetMs: number) {
    this.#client = client;
    this.#fixed = fixed;
    this.#giveBack = giveBack;
    this.#resetMs = resetMs;
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
   * (HD-30). The text's own SETs have to follow it.
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

  /** False also when the server falls silent: the connection's place in the pool must not wait for it. */
  #reset(): Promise<boolean> {
    const reset = async () => {
      if (this.#client.getTransactionStatus() !== 'I') await this.query('rollback');
      await this.checkSettings(['discard all', ...this.backend.settings]);
      return true;
    };
    return stopAfter(this.#resetMs, () => this.destroy(), reset).catch(() => false);
  }

  /** Throws a ConnectFailure when a setting is wrong after these statements (HD-30). */
  async checkSettings(statements: readonly string[] = []): Promise<void> {
    const steps = statements.map((text): Step => ({ kind: 'run', text }));
    const results = await this.exchange([...steps, this.#fixed.look]);
    const problem = this.#fixed.problemIn(results.at(-1)?.rows[0], this.backend);
    if (problem !== null) throw differs(problem);
  }
}
