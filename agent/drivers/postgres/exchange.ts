import type { Connection, Submittable } from 'pg';
import { type RowTap, readFields } from './frames.js';

export interface Column {
  name: string;
  typeOid: number;
}

/** One statement, or part of one; all steps of an exchange travel together. */
export type Step =
  | { kind: 'run'; text: string; values?: readonly string[]; onRow?: (fields: (Buffer | null)[]) => void }
  /** Parses a text under a name and returns its columns. */
  | { kind: 'prepare'; text: string; name: string }
  /** Opens a portal on a prepared name and fetches its first rows. */
  | { kind: 'open'; name: string; portal: string; rows: number; onRow: (fields: (Buffer | null)[]) => void }
  | { kind: 'fetch'; portal: string; rows: number; onRow: (fields: (Buffer | null)[]) => void };

export interface StepResult {
  /** Null when the step returns no rows, or did not ask for columns. */
  columns: Column[] | null;
  /** The rows of a `run` step without `onRow`, as text. */
  rows: (string | null)[][];
  /** The command tag; null while rows remain. */
  tag: string | null;
}

/** What the agent asks for itself is kept as a whole, so it has a limit: far above the plan of any statement and a snapshot that can be sent. */
const MAX_KEPT_BYTES = 67_108_864;

interface WireConnection {
  stream: { cork(): void; uncork(): void; destroy(): void };
  parse(message: { text: string; name: string }): void;
  bind(message: { portal: string; statement: string; values: readonly string[] }): void;
  describe(message: { type: 'P' | 'S'; name: string }): void;
  execute(message: { portal: string; rows: number }): void;
  sync(): void;
}

/**
 * Several statements of the extended protocol in one round trip. The server runs them in order and skips the rest after an error.
 * The promise settles when the server is ready again; an error is that of the failed step.
 */
export class Exchange implements Submittable {
  readonly done: Promise<StepResult[]>;
  readonly #steps: readonly Step[];
  readonly #tap: RowTap;
  readonly #results: StepResult[] = [];
  #current: StepResult = emptyResult();
  #keptBytes = 0;
  #disconnect = () => {};
  #resolve: (results: StepResult[]) => void = () => {};
  #reject: (error: Error) => void = () => {};

  constructor(steps: readonly Step[], tap: RowTap) {
    this.#steps = steps;
    this.#tap = tap;
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  submit(connection: Connection): void {
    const wire = connection as unknown as WireConnection;
    this.#tap.onRow = (row) => this.#row(row);
    this.#disconnect = () => wire.stream.destroy();
    wire.stream.cork();
    for (const step of this.#steps) sendStep(wire, step);
    wire.sync();
    wire.stream.uncork();
  }

  handleRowDescription(message: { fields: { name: string; dataTypeID: number }[] }): void {
    this.#current.columns = message.fields.map((field) => ({ name: field.name, typeOid: field.dataTypeID }));
    this.#endOfPrepare();
  }

  handleNoData(): void {
    this.#endOfPrepare();
  }

  handleCommandComplete(message: { text: string }): void {
    this.#end(message.text);
  }

  handleEmptyQuery(): void {
    this.#end('');
  }

  handlePortalSuspended(): void {
    this.#end(null);
  }

  handleCopyInResponse(connection: unknown): void {
    // No text here may use COPY; a server that waits for its data would wait forever.
    (connection as WireConnection).stream.destroy();
  }

  handleCopyData(): void {}

  handleDataRow(): void {}

  handleError(error: Error): void {
    this.#tap.onRow = null;
    this.#reject(error);
  }

  handleReadyForQuery(): void {
    this.#tap.onRow = null;
    this.#resolve(this.#results);
  }

  #endOfPrepare(): void {
    if (this.#steps[this.#results.length]?.kind === 'prepare') this.#end(null);
  }

  #end(tag: string | null): void {
    this.#current.tag = tag;
    this.#results.push(this.#current);
    this.#current = emptyResult();
  }

  #row(row: Buffer): void {
    const step = this.#steps[this.#results.length];
    const fields = readFields(row);
    if (step && 'onRow' in step && step.onRow) step.onRow(fields);
    else this.#keep(fields, row.length);
  }

  #keep(fields: (Buffer | null)[], bytes: number): void {
    this.#keptBytes += bytes;
    if (this.#keptBytes > MAX_KEPT_BYTES) {
      this.#tap.tooLarge = true;
      this.#disconnect();
    } else this.#current.rows.push(fields.map((field) => field?.toString('utf8') ?? null));
  }
}

function emptyResult(): StepResult {
  return { columns: null, rows: [], tag: null };
}

function sendStep(wire: WireConnection, step: Step): void {
  switch (step.kind) {
    case 'run':
      wire.parse({ text: step.text, name: '' });
      wire.bind({ portal: '', statement: '', values: step.values ?? [] });
      wire.describe({ type: 'P', name: '' });
      wire.execute({ portal: '', rows: 0 });
      return;
    case 'prepare':
      wire.parse({ text: step.text, name: step.name });
      wire.describe({ type: 'S', name: step.name });
      return;
    case 'open':
      wire.bind({ portal: step.portal, statement: step.name, values: [] });
      wire.execute({ portal: step.portal, rows: step.rows });
      return;
    case 'fetch':
      wire.execute({ portal: step.portal, rows: step.rows });
  }
}
