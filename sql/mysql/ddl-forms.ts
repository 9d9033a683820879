import { ddl, type Form } from '../form.js';
import { migration, type Reason, refuseFor } from '../reasons.js';
import type { Refused } from '../verdict.js';
import { clausesOf } from './ddl-parts.js';
import type { Rule } from './form.js';
import { hasWords, type MysqlStatement, skipWords, upperAt } from './statement.js';

/** CREATE of a table, view or index. A table created from a query runs that query. OR REPLACE of a table or index drops it implicitly. */
export const create: Rule = (statement, at) => {
  const replaces = hasWords(statement, at, 'OR', 'REPLACE');
  const next = replaces ? at + 2 : at;
  const isTable = upperAt(statement, skipWords(statement, next, temporary)) === 'TABLE';
  const isIndex = upperAt(statement, skipWords(statement, next, indexKinds)) === 'INDEX';
  if (replaces && (isTable || isIndex))
    return refuseFor('not understood', `CREATE OR REPLACE ${isTable ? 'TABLE' : 'INDEX'}`, migration);
  if (isTable) return createTable(statement);
  if (isIndex) return ddl('CREATE');
  return upperAt(statement, skipViewOptions(statement, next)) === 'VIEW'
    ? ddl('CREATE')
    : refuseObject('CREATE', statement, next);
};

/** Accepts ALTER TABLE only if every clause is known. */
export const alter: Rule = (statement, at) => {
  if (upperAt(statement, at) !== 'TABLE') return refuseObject('ALTER', statement, at);
  if (namesDirectory(statement)) return refusedDirectory;
  const engine = losingEngine(statement);
  if (engine !== null) return refuseFor('not understood', `ALTER TABLE with ENGINE = ${engine}`, migration);
  const clauses = clausesOf(statement);
  const unknown = clauses.find((clause) => !isKnownClause(statement, clause));
  if (unknown !== undefined) return refuseClause(statement, unknown);
  return clauses.length === 0 ? null : ddl('ALTER');
};

export const drop: Rule = (statement, at) => {
  const object = upperAt(statement, skipWords(statement, at, temporary));
  return droppable.has(object) ? { ...ddl('DROP'), destructive: true } : refuseObject('DROP', statement, at);
};

export const rename: Rule = (statement, at) => (isTableNext(statement, at) ? ddl('DDL') : refuseObject('RENAME', statement, at));

/** MariaDB's `ANALYZE SELECT …` runs its statement, so it is refused. */
export const analyzeTable: Rule = (statement, at) =>
  isTableNext(statement, at) ? { class: 'write', kind: 'utility', type: 'DML', inside: 'runs' } : null;

export const isTableNext = (statement: MysqlStatement, at: number): boolean =>
  hasWords(statement, at, 'TABLE') || hasWords(statement, at, 'TABLES');

const refusedDirectory = refuseFor('server files or client data', 'DATA DIRECTORY or INDEX DIRECTORY', null);

function createTable(statement: MysqlStatement): Form | Refused {
  if (namesDirectory(statement)) return refusedDirectory;
  return { ...ddl('CREATE'), inside: takesQuery(statement) ? 'runs' : 'defined' };
}

/** VALUES also occurs in partition clauses, as VALUES IN and VALUES LESS THAN. */
export function takesQuery(statement: MysqlStatement): boolean {
  const tables = statement.tokens.filter(({ upper }) => upper === 'TABLE').length;
  return (
    tables > 1 ||
    statement.tokens.some(({ upper }, at) => {
      const values = upper === 'VALUES' && !hasWords(statement, at + 1, 'IN') && !hasWords(statement, at + 1, 'LESS');
      return upper === 'SELECT' || values;
    })
  );
}

const namesDirectory = (statement: MysqlStatement): boolean =>
  statement.tokens.some(({ upper }, at) => upper === 'DIRECTORY' && /^(DATA|INDEX)$/.test(upperAt(statement, at - 1)));

function skipViewOptions(statement: MysqlStatement, start: number): number {
  let at = start;
  if (hasWords(statement, at, 'ALGORITHM', '=')) at += 3;
  return hasWords(statement, at, 'SQL', 'SECURITY') ? at + 3 : at;
}

function isKnownClause(statement: MysqlStatement, at: number): boolean {
  const [word, second] = [upperAt(statement, at), upperAt(statement, at + 1)];
  if (word === 'DROP') return !refusedDrops.has(second);
  if (word === 'ENABLE' || word === 'DISABLE') return second === 'KEYS';
  if (word === 'CONVERT') return second === 'TO';
  return alterClauses.has(word);
}

function refuseClause(statement: MysqlStatement, at: number): Refused {
  const words = [upperAt(statement, at), upperAt(statement, at + 1)].filter((word) => /^\w+$/.test(word));
  return refuseFor('not understood', `ALTER TABLE with ${words.join(' ') || 'quoted text'}`, migration);
}

/** The engine that the table would get and that does not keep its rows here, or null. Options may follow each other without a comma. */
export function losingEngine(statement: MysqlStatement): string | null {
  for (const [at, { upper }] of statement.tokens.entries()) {
    if (upper !== 'ENGINE') continue;
    const value = statement.tokens[upperAt(statement, at + 1) === '=' ? at + 2 : at + 1]?.text ?? '';
    const engine = value.replace(/^(['"`])(.*)\1$/, '$2').toUpperCase();
    if (losing.has(engine)) return engine;
  }
  return null;
}

/** The first word after the verb that names a kind of object decides the reason. */
function refuseObject(verb: string, statement: MysqlStatement, at: number): Refused {
  const words = statement.tokens.slice(at, at + 16).map(({ upper }) => upper);
  const object = words.find((word) => Object.hasOwn(reasonByObject, word));
  if (object !== undefined) return refuseFor(reasonByObject[object] ?? 'not understood', `${verb} ${object}`);
  return refuseFor('not understood', `${verb} ${words[0] ?? ''}`.trim(), migration);
}

const temporary = new Set(['TEMPORARY']);
const indexKinds = new Set(['UNIQUE', 'FULLTEXT', 'SPATIAL']);
const droppable = new Set(['TABLE', 'TABLES', 'VIEW', 'INDEX']);
const alterClauses = new Set(
  `ADD MODIFY CHANGE ALTER RENAME CONVERT ORDER ENGINE COMMENT AUTO_INCREMENT ROW_FORMAT DEFAULT CHARACTER CHARSET COLLATE ALGORITHM
  LOCK FORCE STATS_PERSISTENT STATS_AUTO_RECALC STATS_SAMPLE_PAGES KEY_BLOCK_SIZE AVG_ROW_LENGTH MAX_ROWS MIN_ROWS CHECKSUM
  PACK_KEYS DELAY_KEY_WRITE COMPRESSION`.split(/\s+/),
);
/** BLACKHOLE keeps no rows, MEMORY forgets them at a restart, and the others hold what lies elsewhere. */
const losing = new Set('BLACKHOLE MEMORY HEAP MERGE MRG_MYISAM FEDERATED FEDERATEDX CONNECT SPIDER S3 SPHINX EXAMPLE'.split(' '));
/** These delete rows or history, and no review rule covers them. */
const refusedDrops = new Set(['PARTITION', 'SYSTEM', 'PERIOD']);
const reasonByObject: Readonly<Record<string, Reason>> = {
  USER: 'privileges',
  ROLE: 'privileges',
  DEFINER: 'privileges',
  FUNCTION: 'code',
  PROCEDURE: 'code',
  TRIGGER: 'code',
  EVENT: 'code',
  PACKAGE: 'code',
  DATABASE: 'infrastructure',
  SCHEMA: 'infrastructure',
  TABLESPACE: 'infrastructure',
  SERVER: 'infrastructure',
  SEQUENCE: 'infrastructure',
  LOGFILE: 'infrastructure',
  INSTANCE: 'infrastructure',
  RESOURCE: 'infrastructure',
  VIEW: 'infrastructure',
  PREPARE: 'session state',
};
