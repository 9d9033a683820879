import type { MysqlToken } from './lexer.js';

/**
 * Tells, for tokens asked about in order, whether each stands inside the body of a procedure, function, trigger or event, where a semicolon does not
 * end the statement. A body that is split wrongly is only a syntax error for the server.
 */
export function isInCompound(tokens: readonly MysqlToken[], first: number): (at: number) => boolean {
  if (!beginsRoutine(tokens, first)) return () => false;
  let depth = 0;
  return (at) => {
    const word = upper(tokens, at);
    // MariaDB's FOR loop, whose beginning looks like many other uses of FOR, is not counted at either end.
    if (word === 'END') depth = endsLoop(tokens, at + 1) ? depth : Math.max(0, depth - 1);
    else if (opens(tokens, at, word)) depth += 1;
    return depth > 0;
  };
}

/** `END FOR`; in `CASE … END FOR UPDATE` the END is that of the CASE. */
const endsLoop = (tokens: readonly MysqlToken[], at: number): boolean =>
  upper(tokens, at) === 'FOR' && !/^(UPDATE|SHARE)$/.test(upper(tokens, at + 1));

const upper = (tokens: readonly MysqlToken[], at: number): string => {
  const token = tokens[at];
  return token === undefined || token.dotted ? '' : token.upper;
};

/** Whether this is a CREATE or ALTER of an object with a body; skips OR REPLACE, DEFINER and AGGREGATE. */
export function beginsRoutine(tokens: readonly MysqlToken[], first: number): boolean {
  let at = first + 1;
  if (upper(tokens, first) !== 'CREATE' && upper(tokens, first) !== 'ALTER') return false;
  if (upper(tokens, at) === 'OR') at += 2;
  if (upper(tokens, at) === 'DEFINER') at = behindDefiner(tokens, at + 2);
  if (upper(tokens, at) === 'AGGREGATE') at += 1;
  return routines.has(upper(tokens, at));
}

/** The index after `name`, `name@host`, `CURRENT_USER` or `CURRENT_USER()`. */
function behindDefiner(tokens: readonly MysqlToken[], at: number): number {
  const next = upper(tokens, at + 1);
  return next === '@' || next === '(' ? at + 3 : at + 1;
}

/** Whether the word opens a block that an END closes. IF and REPEAT are also functions, and IF EXISTS before a name is part of a statement. */
function opens(tokens: readonly MysqlToken[], at: number, word: string): boolean {
  if (upper(tokens, at - 1) === 'END') return false;
  if (word === 'BEGIN' || word === 'CASE' || word === 'LOOP' || word === 'WHILE') return true;
  if (word !== 'IF' && word !== 'REPEAT') return false;
  const next = upper(tokens, at + 1);
  const exists = next === 'NOT' ? at + 2 : at + 1;
  if (upper(tokens, exists) === 'EXISTS') return beginsQuery(tokens, exists + 1);
  return next !== '(' || !isCall(tokens, at + 1);
}

/** Whether a query in parentheses begins here; `ADD COLUMN IF NOT EXISTS (a int)` has a list there. */
function beginsQuery(tokens: readonly MysqlToken[], open: number): boolean {
  let at = open;
  while (upper(tokens, at) === '(') at += 1;
  return at > open && queries.has(upper(tokens, at));
}

/** A call of IF or REPEAT has a comma between its parentheses. */
const isCall = (tokens: readonly MysqlToken[], open: number): boolean => listsIn(tokens).has(open);

/** Where the parentheses open that have a comma directly inside. Found once per text, because a text may hold very many. */
function listsIn(tokens: readonly MysqlToken[]): ReadonlySet<number> {
  const known = lists.get(tokens);
  if (known !== undefined) return known;
  const found = new Set<number>();
  const open: number[] = [];
  for (const [at, { upper: sign, dotted }] of tokens.entries()) {
    if (dotted) continue;
    if (sign === '(') open.push(at);
    else if (sign === ')') open.pop();
    else if (sign === ',') found.add(open.at(-1) ?? -1);
  }
  lists.set(tokens, found);
  return found;
}

const lists = new WeakMap<readonly MysqlToken[], ReadonlySet<number>>();
const queries = new Set(['SELECT', 'WITH', 'VALUES', 'TABLE']);
const routines = new Set(['PROCEDURE', 'FUNCTION', 'TRIGGER', 'EVENT']);
