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
    if (word === 'END') depth = Math.max(0, depth - 1);
    else if (opens(tokens, at, word)) depth += 1;
    return depth > 0;
  };
}

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

/** Whether the word opens a block that an END closes. IF and REPEAT are also functions, and IF is part of IF EXISTS. */
function opens(tokens: readonly MysqlToken[], at: number, word: string): boolean {
  if (upper(tokens, at - 1) === 'END') return false;
  if (word === 'BEGIN' || word === 'CASE' || word === 'LOOP' || word === 'WHILE') return true;
  if (word !== 'IF' && word !== 'REPEAT') return false;
  const next = upper(tokens, at + 1);
  if (next === 'EXISTS' || (next === 'NOT' && upper(tokens, at + 2) === 'EXISTS')) return false;
  return next !== '(' || !isCall(tokens, at + 1);
}

/** A call of IF or REPEAT has a comma between its parentheses. */
function isCall(tokens: readonly MysqlToken[], open: number): boolean {
  let depth = 0;
  for (let at = open; at < tokens.length; at += 1) {
    const sign = upper(tokens, at);
    if (sign === '(') depth += 1;
    else if (sign === ')') depth -= 1;
    if (depth === 0) return false;
    if (depth === 1 && sign === ',') return true;
  }
  return false;
}

const routines = new Set(['PROCEDURE', 'FUNCTION', 'TRIGGER', 'EVENT']);
