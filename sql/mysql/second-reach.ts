import type { MysqlToken } from './lexer.js';

/** Requests are limited to 100,000 bytes, which hold 20,000 tokens of an ordinary INSERT; the parser takes 0.1 s for these. */
const maxBytes = 131_072;
const maxTokens = 40_000;
/**
 * Tokens that can lie on one path from the root of the parser's tree to a leaf. It builds and drops chains such as `1+1+…` by recursion, and breaks
 * at about 750 operators. Lists are not chains: each item between two commas counts by itself.
 */
const maxPathTokens = 1_000;
/** Each of these on one path can make the parser read everything after it twice: ten take up to 50 ms, twenty 3 s. */
const maxPathRetries = 10;

/**
 * Whether the second parser can be given a text of these tokens. Otherwise our closed lists decide alone, as they do for texts that it does not know:
 * the second parser only makes verdicts stricter, and refusing instead would hit valid long lists and conditions. A text that breaks it anyway is
 * refused.
 */
export function isWithinReach(text: string, tokens: readonly MysqlToken[]): boolean {
  if (tokens.length > maxTokens || Buffer.byteLength(text) > maxBytes) return false;
  const open: Level[] = [newLevel()];
  for (const [at, { upper }] of tokens.entries()) {
    const level = open.at(-1)!;
    level.tokens += 1;
    level.retries += retriesOf(upper, tokens[at + 1]?.upper);
    if (isBeyond(level)) return false;
    if (upper === '(') open.push(newLevel());
    else if (upper === ')') closeInto(open.at(-2), open.pop());
    else if (upper === ',' || upper === ';') endItem(level);
  }
  // Parentheses are balanced in every accepted text.
  return open.every((level) => !isBeyond(level));
}

/** Counts between two parentheses: the current item, the largest group inside it, and the largest item so far. */
interface Level {
  tokens: number;
  retries: number;
  innerTokens: number;
  innerRetries: number;
  mostTokens: number;
  mostRetries: number;
}

const newLevel = (): Level => ({ tokens: 0, retries: 0, innerTokens: 0, innerRetries: 0, mostTokens: 0, mostRetries: 0 });

const isBeyond = (level: Level): boolean =>
  level.tokens + level.innerTokens > maxPathTokens || level.retries + level.innerRetries > maxPathRetries;

function endItem(level: Level): void {
  level.mostTokens = Math.max(level.mostTokens, level.tokens + level.innerTokens);
  level.mostRetries = Math.max(level.mostRetries, level.retries + level.innerRetries);
  Object.assign(level, { tokens: 0, retries: 0, innerTokens: 0, innerRetries: 0 });
}

function closeInto(outer: Level | undefined, inner: Level | undefined): void {
  if (outer === undefined || inner === undefined) return;
  endItem(inner);
  outer.innerTokens = Math.max(outer.innerTokens, inner.mostTokens);
  outer.innerRetries = Math.max(outer.innerRetries, inner.mostRetries);
}

/** Words that the parser first tries to read specially, and reads again as a name when that fails. */
function retriesOf(word: string, next: string | undefined): number {
  if (word === 'CASE' || word === 'INTERVAL') return 1;
  if (next !== '(') return 0;
  return word === 'POSITION' ? 2 : calls.has(word) ? 1 : 0;
}

const calls = new Set(
  'CAST CONVERT SUBSTRING SUBSTR CEIL FLOOR OVERLAY CURRENT_TIMESTAMP CURRENT_DATE CURRENT_TIME LOCALTIME LOCALTIMESTAMP'.split(
    ' ',
  ),
);
