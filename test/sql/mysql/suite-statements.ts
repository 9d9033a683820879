import { readFileSync } from 'node:fs';

/** The SQL statements of a file of MariaDB's own tests; the commands of its test language, and statements with its variables, are left out. */
export function statementsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  const statements: string[] = [];
  let delimiter = ';';
  for (let at = 0; at < text.length; ) {
    const piece = pieceAt(text, at, delimiter);
    at = piece.end;
    const changed = /^\s*(?:--)?\s*delimiter\s+(\S+?);?\s*$/i.exec(piece.text)?.[1];
    if (changed !== undefined) delimiter = changed;
    else if (/^\s*(--)?\s*(perl|write_file|append_file)\b/i.test(piece.text)) at = behindEnd(text, at);
    else if (piece.isStatement && isSql(piece.text)) statements.push(piece.text.trim());
  }
  return statements;
}

interface Piece {
  text: string;
  end: number;
  isStatement: boolean;
}

/** One command of a line of its own, or everything up to the next delimiter outside quotes. */
function pieceAt(text: string, start: number, delimiter: string): Piece {
  const at = start + (/^[\s{}]*/.exec(text.slice(start, start + 10_000))?.[0].length ?? 0);
  const lineEnd = text.indexOf('\n', at) === -1 ? text.length : text.indexOf('\n', at);
  if (text[at] === '#' || text.startsWith('--', at))
    return { text: text.slice(at, lineEnd), end: lineEnd + 1, isStatement: false };
  if (/^(if|while)\s*\(/i.test(text.slice(at, at + 20))) return { text: '', end: lineEnd + 1, isStatement: false };
  let quote = '';
  for (let next = at; next < text.length; next += 1) {
    const char = text[next]!;
    if (quote === '' && text.startsWith(delimiter, next))
      return { text: text.slice(at, next), end: next + delimiter.length, isStatement: true };
    if (char === '\\' && quote !== '`') next += 1;
    else if (quote === char) quote = '';
    else if (quote === '' && (char === "'" || char === '"' || char === '`')) quote = char;
  }
  return { text: '', end: text.length, isStatement: false };
}

/** Behind the line that ends a block of another language. */
function behindEnd(text: string, at: number): number {
  const end = /\n(EOF|END_OF_FILE)[^\n]*(\n|$)/g;
  end.lastIndex = at - 1;
  return end.exec(text) === null ? text.length : end.lastIndex;
}

const isSql = (text: string): boolean =>
  text.trim() !== '' && !/^\s*[a-z_]*(commands)?\s*$/i.test(text) && !commands.test(text) && !/\$\w|\ufffd/.test(text);

/** Words that begin commands of the test language; those of SQL that it shares are left to SQL. */
const commands =
  /^\s*(let|eval|evalp|eval_\w+|connect|connection|disconnect|source|echo|inc|dec|sleep|real_sleep|exec|system|error|query_\w+|send|send_\w+|reap|die|exit|skip|result_\w+|replace_\w+|remove_file\w*|copy_file|move_file|mkdir|rmdir|list_files|cat_file|diff_files|file_exists|chmod|sorted_result|vertical_results|horizontal_results|enable_\w+|disable_\w+|character_set|change_user|ping|shutdown_server|sync_\w+|save_master_pos|wait_for_\w+|require|start_timer|end_timer|lowercase_result|output|perl|write_file|append_file|dirty_close|query|assert|reset_connection|ps_\w+|delimiter|end|optimizer_\w+|force-\w+|partially_\w+)\b(?!\s+table\b)/i;
