import type { ReviewRule } from '../../domain/policies.js';
import type { StatementFacts, TableName } from '../../domain/statement.js';
import { losingEngine, takesQuery } from './ddl-forms.js';
import { alteredAt, behindKind, clausesOf, readTable } from './ddl-parts.js';
import type { MysqlForm } from './form.js';
import { hasWords, type MysqlStatement, skipPair, upperAt } from './statement.js';

/** Adds what a DDL statement, ANALYZE TABLE or OPTIMIZE TABLE itself defines, alters or drops. */
export function addMysqlDefinition(facts: StatementFacts, statement: MysqlStatement, form: MysqlForm): void {
  const add = Object.hasOwn(definitions, upperAt(statement, 0)) ? definitions[upperAt(statement, 0)] : undefined;
  if (form.verbAt === 0) add?.(facts, statement);
}

type Definition = (facts: StatementFacts, statement: MysqlStatement) => void;

const changesTables: Definition = (facts, statement) => {
  facts.changed.push(...tablesBehind(statement, kindAt(statement)));
};

const definitions: Readonly<Record<string, Definition>> = {
  CREATE: (facts, statement) => {
    const at = kindAt(statement);
    const kind = upperAt(statement, at);
    if (kind === 'TABLE') {
      const [table] = tablesBehind(statement, at);
      if (table !== undefined && !hasWords(statement, at + 1, 'IF')) facts.created.push(table);
      const isPlain = !takesQuery(statement);
      // MariaDB drops the table that is there.
      if (hasWords(statement, 1, 'OR', 'REPLACE', 'TABLE')) facts.hits.push('drop_table');
      Object.assign(facts, { safeForm: isPlain && usesInnodb(statement), bypassable: isPlain });
      return;
    }
    const on = statement.tokens.findIndex(({ upper, dotted }) => upper === 'ON' && !dotted);
    if (hasWords(statement, 1, 'SEQUENCE')) facts.hits.push('create_sequence');
    if (kind === 'INDEX') facts.changed.push(...tablesAt(statement, on + 1).slice(0, 1));
    Object.assign(facts, { safeForm: kind === 'VIEW' && !hasWords(statement, 1, 'OR', 'REPLACE'), bypassable: true });
  },
  ALTER: (facts, statement) => {
    facts.changed.push(...tablesBehind(statement, alteredAt(statement)).slice(0, 1));
    facts.hits.push(...new Set(clausesOf(statement).flatMap((at) => hitsOfClause(statement, at))));
    if (losingEngine(statement) !== null) facts.hits.push('truncate');
    facts.bypassable = true;
  },
  DROP: (facts, statement) => {
    const at = kindAt(statement);
    const kind = upperAt(statement, at);
    const hit = Object.hasOwn(dropHits, kind) ? dropHits[kind] : undefined;
    if (hit !== undefined) facts.hits.push(hit);
    if (hasWords(statement, 1, 'SEQUENCE')) facts.hits.push('drop_sequence');
    if (hit === 'drop_table') facts.changed.push(...tablesBehind(statement, at));
    facts.bypassable = true;
  },
  TRUNCATE: (facts, statement) => {
    facts.changed.push(...tablesBehind(statement, hasWords(statement, 1, 'TABLE') ? 1 : 0));
    facts.hits.push('truncate');
    facts.bypassable = true;
  },
  RENAME: changesTables,
  OPTIMIZE: changesTables,
  ANALYZE: changesTables,
};

const kindAt = (statement: MysqlStatement): number =>
  statement.tokens.findIndex(({ upper }, at) => at > 0 && /^(TABLES?|VIEW|INDEX)$/.test(upper));

const tablesBehind = (statement: MysqlStatement, at: number): TableName[] => tablesAt(statement, behindKind(statement, at));

/** Reads names separated by commas; `RENAME TABLE a TO b` names both. */
function tablesAt(statement: MysqlStatement, start: number): TableName[] {
  const tables: TableName[] = [];
  for (let at = start; ; at += 1) {
    const table = readTable(statement, at);
    if (table === null) return tables;
    tables.push({ schema: table.schema, name: table.name });
    at =
      hasWords(statement, table.end, 'TO') && hasWords(statement, 0, 'RENAME')
        ? (readTable(statement, table.end + 1)?.end ?? table.end)
        : table.end;
    if (upperAt(statement, at) !== ',') return tables;
  }
}

/** Other engines can reach files and other servers. */
const usesInnodb = (statement: MysqlStatement): boolean =>
  statement.tokens.every(
    ({ upper }, at) => upper !== 'ENGINE' || hasWords(statement, at + 1, '=', 'INNODB') || hasWords(statement, at + 1, 'INNODB'),
  );

function hitsOfClause(statement: MysqlStatement, at: number): ReviewRule[] {
  const [word, second] = [upperAt(statement, at), upperAt(statement, at + 1)];
  if (word === 'MODIFY' || word === 'CHANGE') return ['alter_column_type'];
  // Of a partition, or of the file of the whole table.
  if (word === 'TRUNCATE' || word === 'DISCARD') return ['truncate'];
  if (word === 'ADD') return addsBareColumn(statement, at) ? ['not_null_without_default'] : [];
  if (word !== 'DROP') return [];
  if (second === 'INDEX' || second === 'KEY') return ['drop_index'];
  if (second === 'PARTITION') return ['drop_table'];
  return notColumns.has(second) ? [] : ['drop_column'];
}

/** `ADD [COLUMN] definition` or `ADD [COLUMN] (definition, …)` with NOT NULL and nothing that supplies a value. */
function addsBareColumn(statement: MysqlStatement, at: number): boolean {
  const start = hasWords(statement, at + 1, 'COLUMN') ? at + 2 : at + 1;
  if (start === at + 1 && notColumns.has(upperAt(statement, start))) return false;
  const isList = upperAt(statement, start) === '(';
  const from = isList ? start + 1 : start;
  const end = isList ? skipPair(statement, start) - 1 : statement.tokens.length;
  const depth = isList ? 1 : 0;
  let definition: string[] = [];
  for (let next = from; next <= end; next += 1) {
    const isEnd = next === end || (upperAt(statement, next) === ',' && statement.depths[next] === depth);
    if (!isEnd && statement.depths[next] === depth) definition.push(upperAt(statement, next));
    if (!isEnd) continue;
    if (/\bNOT NULL\b/.test(definition.join(' ')) && !definition.some((word) => filling.has(word))) return true;
    if (!isList) return false;
    definition = [];
  }
  return false;
}

const dropHits: Readonly<Record<string, ReviewRule>> = {
  TABLE: 'drop_table',
  TABLES: 'drop_table',
  VIEW: 'drop_view',
  INDEX: 'drop_index',
};
const filling = new Set(['DEFAULT', 'AUTO_INCREMENT', 'GENERATED', 'AS', 'SERIAL']);
const notColumns = new Set('INDEX KEY UNIQUE FULLTEXT SPATIAL PRIMARY FOREIGN CONSTRAINT CHECK PARTITION'.split(' '));
