import { stopAfter } from '../../../lib/deadline.js';
import { modesAllowed, withoutReadingModes } from '../../../sql/mysql/settings.js';
import { ConnectFailure } from '../driver.js';
import { ConnectionLost, RowTooLarge } from '../faults.js';
import type { Session } from '../session.js';
import type { MysqlClient, MysqlColumn } from './client.js';
import { asMysqlError } from './errors.js';
import { fixedSettings, type NameCase, quoted, settingsProblem } from './fixed-settings.js';

export interface RowReader {
  onColumns?: (columns: readonly MysqlColumn[]) => void;
  /** The bytes are valid only during the call. */
  onRow?: (fields: (Buffer | null)[]) => void;
}

export interface Ran {
  /** Rows changed, or rows returned by a statement that returns rows. */
  affected: number;
}

const RESET_MS = 10_000;

export { quoted };

/** One connection to MySQL or MariaDB, held by one job. */
export class MysqlSession implements Session {
  isMariadb = false;
  readonly searchPath = null;
  /**
   * Identifies this session on the server. Thread numbers restart with the server, so the client's end of the connection is
   * needed too.
   */
  thread = { id: '', host: '' };
  /** The server's name for itself. */
  server = '';
  readonly #client: MysqlClient;
  readonly #giveBack: (reusable: boolean) => void;
  readonly #onError: (error: Error) => void;
  #settings = '';
  #look = '';
  #keep = '';
  #expected = '';
  #lost = false;
  #doubtful = false;
  #fail: ((error: Error) => void) | null = null;

  constructor(client: MysqlClient, giveBack: (session: MysqlSession, reusable: boolean) => void) {
    this.#client = client;
    this.#giveBack = (reusable) => giveBack(this, reusable);
    this.#onError = (error) => {
      this.#lost = true;
      this.#fail?.(error);
    };
    client.on('error', this.#onError);
  }

  get lost(): boolean {
    return this.#lost;
  }

  /** The system variable that tells whether transactions are read-only. */
  get readOnlyVariable(): string {
    return this.isMariadb ? 'tx_read_only' : 'transaction_read_only';
  }

  /**
   * Fixes how texts and names are parsed, how values are written (agent-process.md section 10, HD-30) and whether the session can write. Throws a
   * ConnectFailure when a setting has no effect.
   */
  async prepare({
    readOnly,
    database,
    nameCase,
  }: {
    readOnly: boolean;
    database: string | null;
    nameCase: NameCase;
  }): Promise<void> {
    // Undoes what `init_connect` did to settings, temporary tables and variables.
    await this.#resetOnly();
    const [row] = await this.query(
      `select version(), @@session.sql_mode, id, host, concat_ws(' ', @@server_id, @@hostname, @@port)
         from information_schema.processlist where id = connection_id()`,
    );
    if (row === undefined) throw new ConnectFailure('connection', 'the server does not show a session in its own list');
    const [version, mode, id, host, server] = row;
    this.isMariadb = /mariadb/i.test(version ?? '');
    this.thread = { id: id ?? '', host: host ?? '' };
    this.server = server ?? '';
    if (database !== null) await this.run(`use ${quoted(database)}`);
    const fixed = fixedSettings(this, readOnly);
    this.#settings = this.#client.format(fixed.set, [withoutReadingModes(mode ?? '')]);
    this.#look = fixed.look;
    this.#keep = fixed.keep;
    await this.run(this.#settings);
    const found = await this.#findSettings();
    const problem = settingsProblem(fixed, found, database) ?? nameCase.problem(found.at(-1) ?? '');
    if (problem !== null) throw new ConnectFailure('connection', problem);
    this.#expected = JSON.stringify(found);
  }

  async #findSettings(): Promise<(string | null)[]> {
    return (await this.query(this.#look))[0] ?? [];
  }

  /**
   * Call before each following statement: a procedure may have changed settings that decide what a text means (HD-30). `own` are the
   * text's SETs so far.
   */
  async keepMeaning(own: readonly string[] = []): Promise<void> {
    for (const text of [this.#keep, ...own]) await this.run(text);
  }

  /** Call after a SET of a migration: its value may have changed how texts are read, which no text may (HD-30). */
  async keepReading(): Promise<void> {
    const [row] = await this.query('select @@session.sql_mode, @@session.character_set_client');
    const [modes, charset] = [row?.[0] ?? '', row?.[1] ?? ''];
    if (modesAllowed(modes) === modes && charset.startsWith('utf8')) return;
    await this.run(this.#client.format('set session character_set_client = utf8mb4, sql_mode = ?', [modesAllowed(modes)]));
  }

  /** Applies the settings of `prepare` again, so that those of a text do not decide what the agent's own statements mean. */
  async restoreSettings(): Promise<void> {
    await this.run(this.#settings);
  }

  /** Runs one text byte for byte to its end; throws the server's error, RowTooLarge or ConnectionLost. */
  async run(text: string, { onColumns, onRow }: RowReader = {}): Promise<Ran> {
    if (this.#lost) throw new ConnectionLost('closed by the server');
    let affected = 0;
    try {
      await new Promise<void>((resolve, reject) => {
        const query = this.#client.newQuery(text);
        this.#fail = reject;
        query.on('fields', (columns?: MysqlColumn[]) => columns && onColumns?.(columns));
        query.on('result', (result: (Buffer | null)[] | { affectedRows: number } | null) => {
          if (Array.isArray(result)) {
            affected++;
            onRow?.(result);
          } else affected += result?.affectedRows ?? 0;
        });
        query.on('error', reject);
        query.on('end', resolve);
        this.#client.addCommand(query);
      });
      return { affected };
    } catch (error) {
      throw this.#fault(error);
    } finally {
      this.#fail = null;
    }
  }

  async query(text: string, values: readonly string[] = []): Promise<(string | null)[][]> {
    const rows: (string | null)[][] = [];
    const onRow = (fields: (Buffer | null)[]) => rows.push(fields.map((field) => field?.toString('utf8') ?? null));
    await this.run(this.#client.format(text, values), { onRow });
    return rows;
  }

  /** Runs a statement with values; returns the number of rows it matched. */
  async change(text: string, values: readonly string[]): Promise<number> {
    return (await this.run(this.#client.format(text, values))).affected;
  }

  distrust(): void {
    this.#doubtful = true;
  }

  destroy(): void {
    this.#lost = true;
    this.#client.stream.destroy();
  }

  async release(): Promise<void> {
    this.#giveBack(!this.#lost && !this.#doubtful && (await this.#reset()));
  }

  /** Ends the connection; cuts off a running statement. */
  close(): void {
    this.#client.on('error', () => {});
    if (this.#lost || this.#doubtful) this.#client.stream.destroy();
    else this.#client.end();
    this.#client.stream.unref();
  }

  #fault(error: unknown): unknown {
    if (this.#client.rowTooLarge) return new RowTooLarge();
    if (asMysqlError(error) && !this.#lost) return error;
    this.#lost = true;
    const known = asMysqlError(error);
    return new ConnectionLost(known ? `error ${known.errno}` : ((error as NodeJS.ErrnoException).code ?? 'closed by the server'));
  }

  /**
   * Clears the job's transaction, locks, temporary tables and settings, and sets ours again; false when the initial state is not
   * restored.
   */
  #reset(): Promise<boolean> {
    const reset = async () => {
      await this.#resetOnly();
      await this.run(this.#settings);
      return JSON.stringify(await this.#findSettings()) === this.#expected;
    };
    return stopAfter(RESET_MS, () => this.destroy(), reset).catch(() => false);
  }

  #resetOnly(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#client.reset((error) => (error ? reject(error) : resolve()));
    });
  }
}
