/** Why a statement is not planned before approval (HD-1). */
export const notPlanned = (reason: string): string => `not planned before approval: ${reason}`;

const refused = 'the database refused the plan';
const missingRight = ': a right is missing';

/**
 * The error text of an EXPLAIN as people may see it (HD-2): the database's own words pass only when they give names and types, never data. The texts
 * come from agents of every version and from old rows, so a text that is shown must stay as it is. A text without an error code is unknown, so only
 * sentences of the gateway and the agent pass, and the plainest form of a permission refusal.
 */
export function shownPlanError(text: string): string {
  if (ours.some((one) => one.test(text)) || tellsNames(text)) return text;
  const code = [...text.matchAll(states)].at(-1)?.[1];
  return `${refused}${code === undefined ? '' : ` (SQLSTATE ${code})`}${isPermissionError(text) ? missingRight : ''}`;
}

/** Whether the text says, in any wording, that the agent's role lacks a right (AG-69). */
export const isPermissionError = (text: string): boolean => !echoes.test(text) && denied.test(text);

/** Every code in the text counts: data could contain a code, but cannot remove the server's own. */
function tellsNames(text: string): boolean {
  const codes = [...text.matchAll(states)].map(([, code]) => code!);
  const numbers = [...text.matchAll(mysqlErrors)].map(([, number]) => number!);
  if (numbers.length > 0) return numbers.length === codes.length && numbers.every((number) => nameErrors.has(number));
  return codes.length > 0 && codes.every((code) => code.startsWith('42'));
}

/** Whether the database says that it knows no such table or column: the statement cannot run as it stands. Of a text as it is shown. */
export const isUnknownName = (text: string): boolean => tellsNames(text) && unknownName.test(text);

const unknownName = /\(SQLSTATE (42P01|42703)\b|\(error (1054|1146), SQLSTATE /;
const states = /\bSQLSTATE ([0-9A-Z]{5})\b/g;
const mysqlErrors = /\berror (\d+), SQLSTATE /g;
/** Unknown database, table, column or routine, a syntax error, or a table or column that may not be used. */
const nameErrors = new Set(['1046', '1049', '1051', '1054', '1064', '1109', '1142', '1143', '1146', '1305']);

/** These repeat parts of the statement. */
const echoes = /^(not planned before approval: |refused: )/;
const ours = [
  echoes,
  /^(EXPLAIN is not available for this statement|plan too large|no agent answered in time|driver error: no connection is free)$/,
  /^not planned: (the gateway signs no EXPLAIN jobs, it is older than this agent|explain token verification failed: [\w :]{1,100})$/,
  /^skipped: the (statement has started|request has ended)$/,
  /^the database refused the plan( \(SQLSTATE [0-9A-Z]{5}\))?(: a right is missing)?$/,
  /^config error: no pool for database=[\w-]+ environment=[\w-]+$/,
  /^driver error: (connection|authentication) failed: [\w ,./-]+$/,
  /^(driver error: query failed: )?permission denied for [a-z ]+ [\w."$-]{1,200}$/,
];
const denied =
  /permission denied|(access|command) denied|not (allowed|permitted|authori[sz]ed)|insufficient (privilege|permission|right)|must be (the )?(owner|superuser)|lack(s|ing)? (\w+ )?(privilege|permission|right)|a right is missing|\bSQLSTATE 42501\b|\berror (1044|1142|1143|1227|1345|1370)\b/i;
