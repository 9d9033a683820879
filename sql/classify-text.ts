import type { ClassifiedStatement, Dialect } from '../domain/statement.js';
import type { FormLimits } from './form.js';
import { findAmbiguity } from './lexical-check.js';
import { classifyStatement } from './postgres/classify-statement.js';
import type { ParsedStatement, Parser } from './postgres/parser.js';
import { redactPostgresql } from './postgres/redact.js';
import {
  type ClassifyOptions,
  notUnderstood,
  type Refused,
  refused,
  type StatementVerdict,
  unparsable,
  type Verdict,
} from './verdict.js';

/** In bytes of UTF-8 (SQ-10). */
export const maxTextBytes = 1_048_576;
const maxStatements = 100;

/** The statements of a text, each ready to be classified, or the reason why the text is not understood. */
export type CutText =
  | {
      readonly ok: true;
      readonly statements: readonly ((limits: FormLimits) => StatementVerdict | Refused)[];
      /** The literal-free text; null if there is none. */
      readonly redact: () => string | null;
    }
  | { readonly ok: false; readonly message: string };

/** The verdict for a text that `cut` splits, by the checks SQ-8 to SQ-15 in order. Pure, except for the health of a parser. */
export function classifyText(cut: (text: string) => CutText, text: string, options: ClassifyOptions): Verdict {
  const early = checkText(text);
  if (early !== null) return early;
  const ambiguity = options.dialect === null ? findAmbiguity(text) : null;
  if (ambiguity !== null) return refused(`the dialect of the database is not known, and the text holds ${ambiguity}`);
  const pieces = cut(text);
  if (!pieces.ok) return notUnderstood(pieces.message);
  if (pieces.statements.length === 0) return { verdict: 'empty' };
  if (pieces.statements.length > maxStatements) return refused(`more than ${maxStatements} statements`);
  const classified: StatementVerdict[] = [];
  for (const classify of pieces.statements) {
    const one = classify(options);
    if ('verdict' in one) return pieces.statements.length > 1 ? atStatement(one, classified.length + 1) : one;
    classified.push(one);
  }
  const verdict = classifyBatch(classified);
  return options.redact && verdict.verdict === 'accepted' ? { ...verdict, redacted: pieces.redact() ?? unparsable } : verdict;
}

/** Splits a PostgreSQL text with the server's own grammar. */
export function cutPostgresql(parser: Parser, text: string, dialect: Dialect | null): CutText {
  const parsed = parser.parse(text);
  if (!parsed.ok) return parsed;
  const bytes = Buffer.from(text);
  const statements = parsed.statements.map(
    (statement) => (limits: FormLimits) => classifyStatement(statement, sliceOf(bytes, statement), limits),
  );
  return { ok: true, statements, redact: () => redactPostgresql(parser, parsed.statements, text, dialect) };
}

/** Whether a text holds half of a surrogate pair. Such a text has no bytes that could run. */
export function hasLoneSurrogate(text: string): boolean {
  return /[\ud800-\udfff]/u.test(text);
}

function checkText(text: string): Verdict | null {
  if (text.includes('\0')) return refused('the text holds the character U+0000');
  if (!/[^ \t\n\v\f\r]/.test(text)) return { verdict: 'empty' };
  if (text.length > maxTextBytes || Buffer.byteLength(text) > maxTextBytes) return refused(`more than ${maxTextBytes} bytes`);
  return hasLoneSurrogate(text) ? notUnderstood('half of a surrogate pair') : null;
}

/** The parser's offsets count bytes, and these bytes are what runs (SQ-6). */
export function sliceOf(bytes: Buffer, { start, length }: ParsedStatement): string {
  return bytes.toString('utf8', start, length === 0 ? bytes.length : start + length);
}

function atStatement(one: Refused, number: number): Refused {
  return { ...one, reason: `${one.reason} (statement ${number})` };
}

function classifyBatch(classified: readonly StatementVerdict[]): Verdict {
  const statements = classified.map(({ statement }) => statement);
  const write = statements.some((each) => each.class.startsWith('write'));
  const ddl = statements.some((each) => each.class.endsWith('ddl'));
  const read = !write && !ddl;
  const problem = findBatchProblem(statements, read);
  if (problem !== null) return refused(problem);
  return {
    verdict: 'accepted',
    operation: read ? 'execute_select' : 'execute_dml',
    read,
    write,
    ddl,
    destructive: classified.some((each) => each.destructive),
    statementType: statements.find((each) => each.class !== 'setting')?.type ?? 'SELECT',
    statements,
    facts: classified.map(({ facts }) => facts),
  };
}

/** SQ-60 to SQ-62. */
function findBatchProblem(statements: readonly ClassifiedStatement[], read: boolean): string | null {
  const settings = statements.filter((each) => each.class === 'setting').length;
  const firstOther = statements.findIndex((each) => each.class !== 'setting');
  if (firstOther !== -1 && firstOther < settings) return 'settings must come before all other statements';
  if (read && statements.length - settings > 1) return 'in a batch that only reads, only the last statement may return rows';
  const outside = statements.some((each) => each.outsideTransaction);
  if (outside && statements.length > 1) return 'a statement that cannot run in a transaction must be the only one';
  return null;
}
