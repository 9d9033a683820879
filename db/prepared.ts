import type pg from 'pg';
import { PreparedQuery } from './prepared-query.js';

const statementNames = new Map<string, string>();
// Our texts are few and fixed. The bound keeps a text built from input from filling the server's memory.
const maxPrepared = 400;

/** Runs a statement, prepared under a name of its own on each connection. */
export function run<Row extends object>(client: pg.Client, text: string, values: readonly unknown[] = []): Promise<Row[]> {
  return new Promise((resolve, reject) => {
    const done = (error: Error | null, rows: Row[]) => (error === null ? resolve(rows) : reject(error));
    client.query(new PreparedQuery({ name: nameOf(text), text, values }, done));
  });
}

/** Undefined once too many texts have one. */
function nameOf(text: string): string | undefined {
  const known = statementNames.get(text);
  if (known !== undefined) return known;
  if (statementNames.size === maxPrepared) return undefined;
  const name = `s${statementNames.size + 1}`;
  statementNames.set(text, name);
  return name;
}
