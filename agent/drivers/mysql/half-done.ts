import { lexMysql, type MysqlToken } from '../../../sql/mysql/lexer.js';
import { cutStatements } from '../../../sql/mysql/statement.js';
import { mysqlUsesOf } from '../../../sql/mysql/uses.js';
import { usesWithEffects } from '../../../sql/uses.js';

/**
 * Whether a failure may leave part of the statement in effect: a procedure can commit at any point. MariaDB drops and analyses the objects of a list or
 * a database and changes accounts one by one, drops what OR REPLACE replaces before it makes the new one, and commits when it drops a new table whose
 * query has failed.
 */
export function canEndHalfDone(text: string): boolean {
  const tokens = tokensOf(text);
  const words = tokens.map(({ upper }) => upper);
  if (words[0] === 'DROP') return words.includes(',') || wholes.has(words[1] ?? '');
  if (words[0] === 'ANALYZE' || words[0] === 'OPTIMIZE') return words.includes(',');
  return (
    words[0] === 'CALL' ||
    changesAccounts(words) ||
    (words[0] === 'CREATE' && made.has(words[1] ?? '') && queriesWithEffects(tokens)) ||
    (words.slice(0, 3).join(' ') === 'CREATE OR REPLACE' && replacedInSteps.has(words[3] ?? ''))
  );
}

/**
 * Whether an interrupted statement may have taken effect all the same. MariaDB keeps routines, triggers and events outside its transactions, and may heed
 * a KILL or a timeout after it has written them: a dropped procedure is gone though the server says that the statement was interrupted.
 */
export function canOutliveInterrupt(text: string): boolean {
  const [verb = '', ...words] = tokensOf(text).map(({ upper }) => upper);
  return definingVerbs.has(verb) && storedCode.has(words.find((word) => storedCode.has(word) || otherObjects.has(word)) ?? '');
}

/** Without a SET STATEMENT before them. */
function tokensOf(text: string): readonly MysqlToken[] {
  const lexed = lexMysql(text);
  const all = lexed.ok ? lexed.tokens : [];
  const isSet = all[0]?.upper === 'SET' && all[1]?.upper === 'STATEMENT';
  return isSet ? all.slice(all.findIndex(({ upper }) => upper === 'FOR') + 1) : all;
}

/** Whether it changes several users or roles. The commas between rights do not count. */
function changesAccounts(words: readonly string[]): boolean {
  const [verb, what] = words;
  if (verb === 'GRANT' || verb === 'REVOKE')
    return words.slice(Math.max(words.lastIndexOf('TO'), words.lastIndexOf('FROM'))).includes(',');
  return accountVerbs.has(verb ?? '') && (what === 'USER' || what === 'ROLE') && words.includes(',');
}

/** Whether a query in it calls what may write. A function that a view calls is not seen. */
function queriesWithEffects(tokens: readonly MysqlToken[]): boolean {
  const upperAt = (at: number) => tokens[at]?.upper ?? '';
  let from = tokens.findIndex(
    ({ upper }, at) => upper === 'SELECT' || (upper === 'VALUES' && !/^(IN|LESS)$/.test(upperAt(at + 1))),
  );
  if (from === -1) return false;
  while (upperAt(from - 1) === '(') from -= 1;
  const cut = cutStatements(tokens.slice(from));
  const query = { class: 'read', kind: 'query', type: 'SELECT', inside: 'runs', verbAt: 0 } as const;
  return typeof cut === 'string' || cut.some((one) => usesWithEffects('mysql', mysqlUsesOf(one, query)).length > 0);
}

const definingVerbs = new Set(['CREATE', 'ALTER', 'DROP']);
const storedCode = new Set(['PROCEDURE', 'FUNCTION', 'TRIGGER', 'EVENT', 'PACKAGE']);
const otherObjects = new Set(['TABLE', 'VIEW', 'INDEX', 'DATABASE', 'SCHEMA', 'USER', 'ROLE', 'SERVER', 'SEQUENCE']);
const accountVerbs = new Set(['CREATE', 'ALTER', 'RENAME']);
const made = new Set(['TABLE', 'TEMPORARY']);
const wholes = new Set(['DATABASE', 'SCHEMA']);
const replacedInSteps = new Set(['TABLE', 'SEQUENCE', 'DATABASE', 'SCHEMA', 'USER']);
