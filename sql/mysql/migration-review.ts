import type { ReviewedStatement } from '../collected-review.js';
import { classifyMysqlStatement } from './classify-statement.js';
import { mysqlFactsOf } from './facts.js';
import { findInMysql } from './findings.js';
import type { MysqlToken } from './lexer.js';
import { cutStatements, hasWords, type MysqlStatement, upperAt } from './statement.js';

const nothing: ReviewedStatement = { hits: [], changesRows: false, bypassable: false, ddl: false, understood: true };

/** What the review rules need of one statement of a MySQL migration (HD-95). A statement that defines code runs nothing of its body. */
export function reviewedMysql(tokens: readonly MysqlToken[], isCode: boolean): ReviewedStatement {
  if (isCode) return { ...nothing, ddl: true };
  const cut = cutStatements(behindSettings(tokens));
  const statement = typeof cut === 'string' || cut.length !== 1 ? undefined : cut[0];
  if (statement === undefined) return { ...nothing, understood: false };
  if (hasWords(statement, 0, 'DELETE', 'HISTORY')) return { ...nothing, hits: ['no_where_delete'], changesRows: true };
  const classified = classifyMysqlStatement(statement, '', { statementTimeoutSecs: 0 });
  if (!('verdict' in classified)) {
    const { hits, changesRows, bypassable } = classified.facts;
    return { hits, changesRows, bypassable, ddl: classified.statement.class.endsWith('ddl'), understood: true };
  }
  const ddl = definitions.has(upperAt(statement, 0));
  const { hits } = ddl ? mysqlFactsOf(statement, { ...refusedForm, verbAt: 0 }, findInMysql(statement)) : nothing;
  return {
    ...nothing,
    hits: dropsDatabase(statement) ? [...hits, 'drop_table'] : hits,
    ddl,
    understood: known.has(upperAt(statement, 0)),
  };
}

/** For a statement that is refused elsewhere, such as DROP COLUMN with EXCHANGE PARTITION. */
const refusedForm = { class: 'ddl', kind: 'ddl', type: 'DDL', inside: 'defined' } as const;
const definitions = new Set(['CREATE', 'ALTER', 'DROP', 'RENAME', 'TRUNCATE']);
/** Statements that a migration may hold although the closed lists lack them. */
const known = new Set(['SET', 'GRANT', 'REVOKE', 'DO', 'CALL', ...definitions]);

const dropsDatabase = (statement: MysqlStatement) =>
  hasWords(statement, 0, 'DROP', 'DATABASE') || hasWords(statement, 0, 'DROP', 'SCHEMA');

/** MariaDB runs the statement after SET STATEMENT ... FOR, and the one after ANALYZE. */
function behindSettings(tokens: readonly MysqlToken[]): readonly MysqlToken[] {
  const [first, second, third] = tokens.map(({ upper }) => upper);
  if (first === 'ANALYZE' && !analyzed.has(second ?? ''))
    return behindSettings(tokens.slice(second === 'FORMAT' && third === '=' ? 4 : 1));
  if (first !== 'SET' || second !== 'STATEMENT') return tokens;
  const at = tokens.findIndex(({ upper }) => upper === 'FOR');
  return at === -1 ? tokens : behindSettings(tokens.slice(at + 1));
}

const analyzed = new Set(['TABLE', 'TABLES', 'LOCAL', 'NO_WRITE_TO_BINLOG']);
