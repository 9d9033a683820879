import pg from 'pg';
import { rowTypes } from './row-types.js';

/** How the texts of a row become an object. */
interface Shape {
  names: readonly string[];
  parsers: readonly ((text: string) => unknown)[];
}

interface Described {
  fields: readonly { name: string; dataTypeID: number }[];
}

/** What the driver asks of a query, as far as this file replaces it; its types leave it out. */
interface DriverQuery extends pg.Submittable {
  readonly name: string | undefined;
  readonly values: readonly unknown[];
  _canceledDueToError: unknown;
  prepare(connection: pg.Connection): void;
  handleReadyForQuery(connection: pg.Connection): void;
}

interface DriverConnection {
  bind(config: { statement: string | undefined; values: readonly unknown[]; valueMapper(value: unknown): unknown }): void;
  execute(config: object): void;
  sync(): void;
}

type Callback<Row> = (error: Error | null, rows: Row[]) => void;

interface Statement {
  /** Undefined for one that is not kept prepared. */
  name: string | undefined;
  text: string;
  values: readonly unknown[];
}

const DriverQuery = pg.Query as unknown as new (config: Statement & { callback: (error: Error | null) => void }) => DriverQuery;

const { prepareValue } = (pg as unknown as { utils: { prepareValue(value: unknown): unknown } }).utils;

/** By name. PostgreSQL runs no prepared statement whose columns have changed, so a shape holds as long as its connection. */
const shapesOf = new WeakMap<pg.Connection, Map<string, Shape>>();

/**
 * A named statement whose columns PostgreSQL describes once per connection. The driver's own has them described, and reads that, with each call:
 * an eighth of the server's CPU for a read.
 */
export class PreparedQuery<Row extends object> extends DriverQuery {
  #shapes: Map<string, Shape> | undefined;
  #shape: Shape | undefined;
  readonly #rows: Row[] = [];

  constructor(statement: Statement, callback: Callback<Row>) {
    super({ ...statement, callback: (error) => callback(error, this.#rows) });
  }

  override prepare(connection: pg.Connection): void {
    this.#shapes = shapesOn(connection);
    this.#shape = this.name === undefined ? undefined : this.#shapes.get(this.name);
    if (this.#shape === undefined) super.prepare(connection);
    else this.#execute(connection as unknown as DriverConnection);
  }

  #execute(connection: DriverConnection): void {
    connection.bind({ statement: this.name, values: this.values, valueMapper: prepareValue });
    connection.execute({});
    connection.sync();
  }

  handleRowDescription({ fields }: Described): void {
    const names = fields.map(({ name }) => name);
    const parsers = fields.map(({ dataTypeID }) => rowTypes.getTypeParser(dataTypeID, 'text'));
    this.#shape = { names, parsers };
    if (this.name !== undefined) this.#shapes?.set(this.name, this.#shape);
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    try {
      this.#rows.push(rowOf(this.#shape as Shape, fields) as Row);
    } catch (error) {
      this._canceledDueToError ||= error;
    }
  }
}

function shapesOn(connection: pg.Connection): Map<string, Shape> {
  const known = shapesOf.get(connection) ?? new Map<string, Shape>();
  shapesOf.set(connection, known);
  return known;
}

function rowOf({ names, parsers }: Shape, texts: readonly (string | null)[]): object {
  const row: Record<string, unknown> = {};
  for (const [index, text] of texts.entries()) row[names[index] as string] = text === null ? null : parsers[index]?.(text);
  return row;
}
