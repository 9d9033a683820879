/** What a person is told of a statement that failed; the envelope keeps the agent's own text. */
export interface DatabaseError {
  message: string;
  hint: string | null;
}

/**
 * The error text of an agent (agent-process.md, section 11) in plain words: `PostgreSQL: relation "nosuch" does not exist (line 1, column 15)`. `sql` is
 * the text of the request, where it is known.
 */
export function databaseError(text: string, sql: string | null): DatabaseError {
  const reason = /^driver error: (.*)$/s.exec(text)?.[1];
  if (reason === undefined) return { message: text, hint: null };
  const failed = /^query failed: (.*)$/s.exec(reason)?.[1];
  return failed === undefined ? { message: agentWords(reason), hint: null } : serverError(failed, sql);
}

function agentWords(reason: string): string {
  const timeout = /^query timed out after (.*)s$/.exec(reason)?.[1];
  if (timeout !== undefined) return `the query ran longer than the ${timeout} s that it may take`;
  if (reason === 'query cancelled') return 'the query was cancelled';
  const away = /^(connection|authentication) failed: (.*)$/s.exec(reason);
  if (away === null) return reason;
  return `the agent could not ${away[1] === 'connection' ? 'reach' : 'log in to'} the database: ${away[2]}`;
}

/** The last code is the server's own: its message may quote what a requester wrote, also a code and a hint. */
function serverError(text: string, sql: string | null): DatabaseError {
  const [, what, error, state, position, rest = ''] =
    /^(.*) \((?:error (\d+), )?SQLSTATE (\w{5})(?:, position (\d+))?\)(.*)$/s.exec(text) ?? [];
  if (what === undefined) return { message: text, hint: null };
  const place = position === undefined ? null : placeIn(sql, Number(position));
  const where = place ?? (position === undefined ? '' : `, position ${position}`);
  const name = error === undefined ? 'PostgreSQL' : 'MySQL';
  const code = place === null ? `${error === undefined ? '' : `error ${error}, `}SQLSTATE ${state}${where}` : where;
  const hint = /^; hint: (.*)$/s.exec(rest)?.[1] ?? null;
  return { message: `${name}: ${what} (${code})${hint === null ? rest : ''}`, hint };
}

/** PostgreSQL counts characters within one statement, so the place is known only where the text is one. */
function placeIn(sql: string | null, position: number): string | null {
  if (sql === null || /;\s*\S/.test(sql)) return null;
  const before = [...sql]
    .slice(0, position - 1)
    .join('')
    .split('\n');
  return `line ${before.length}, column ${[...(before.at(-1) ?? '')].length + 1}`;
}
