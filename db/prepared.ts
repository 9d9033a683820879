import type pg from 'pg';

const statementNames = new Map<string, string>();
// Our texts are few and fixed. The bound keeps a text built from input from filling the server's memory.
const maxPrepared = 400;

/** Runs a statement, prepared under a name of its own on each connection. */
export async function run<Row extends object>(
  client: pg.ClientBase,
  text: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  let name = statementNames.get(text);
  if (name === undefined && statementNames.size < maxPrepared) {
    name = `s${statementNames.size + 1}`;
    statementNames.set(text, name);
  }
  const result = await client.query<Row>({ text, values: [...values], ...(name === undefined ? {} : { name }) });
  return result.rows;
}
