import type { StatementFacts, TableName } from '../../domain/statement.js';
import { completeFacts, maxListElements, noFacts } from '../facts.js';
import { usesWithEffects } from '../uses.js';
import { addMysqlDefinition } from './ddl-facts.js';
import { type MysqlTable, readTable } from './ddl-parts.js';
import type { MysqlFindings } from './findings.js';
import type { MysqlForm } from './form.js';
import { onlyMeantBy } from './named-table.js';
import { hasWords, type MysqlStatement, nameOf, skipPair, skipWords, upperAt } from './statement.js';
import { findTables, type TableReference } from './tables.js';
import { mysqlUsesOf } from './uses.js';
import { fixedIn, selectsRows, writtenBy } from './writes.js';

/** The facts of one MySQL statement; rules look at what would run (sql-safety.md section 8). */
export function mysqlFactsOf(statement: MysqlStatement, form: MysqlForm, found: MysqlFindings): StatementFacts {
  const facts = noFacts();
  if (form.class === 'setting' || form.kind === 'show') return facts;
  const references = findTables(statement);
  facts.named.push(...references.map(toName));
  facts.listedCall = found.listedCall;
  facts.uses = mysqlUsesOf(statement, form);
  facts.unlisted = usesWithEffects('mysql', facts.uses);
  facts.writesUnknown = (found.listedCall && form.inside !== 'defined') || upperAt(statement, 0) === 'CALL';
  if (form.inside === 'runs') {
    for (let lists = countLargeLists(statement); lists > 0; lists -= 1) facts.hits.push('large_in_list');
    if (form.kind === 'dml') addDml(facts, statement, form.verbAt, references);
  }
  if (form.inside !== 'planned') addMysqlDefinition(facts, statement, form);
  return completeFacts(facts, () => statement.tokens.map((token) => nameOf(token) ?? ''));
}

function addDml(facts: StatementFacts, statement: MysqlStatement, verbAt: number, references: readonly TableReference[]): void {
  const verb = upperAt(statement, verbAt);
  const first = skipWords(statement, verbAt + 1, modifiers);
  const whereAt = find(statement, verbAt, 'WHERE');
  facts.changesRows = true;
  if (verb === 'INSERT' || verb === 'REPLACE') {
    const table = readTable(statement, hasWords(statement, first, 'INTO') ? first + 1 : first);
    if (table !== null) facts.changed.push(toName(table));
    // REPLACE deletes conflicting rows.
    if (verb === 'REPLACE') facts.deletedFrom.push(...facts.changed);
    else if (table !== null) addInsert(facts, statement, table);
    return;
  }
  const end = verb === 'UPDATE' ? find(statement, verbAt, 'SET') : whereAt;
  const main = references.filter(({ at }) => at > verbAt && at < (end ?? statement.tokens.length));
  const targets = verb === 'UPDATE' ? main.filter(({ inQuery }) => !inQuery) : targetsOf(statement, first, main);
  facts.changed.push(...targets.map(toName));
  const written = verb === 'UPDATE' ? writtenBy(statement, end ?? first, whereAt ?? statement.tokens.length, main) : targets;
  const selects = whereAt !== null && selectsRows(statement, { verbAt, whereAt, main, written, references });
  if (!selects) facts.hits.push(verb === 'UPDATE' ? 'no_where_update' : 'no_where_delete');
  if (verb === 'DELETE') facts.deletedFrom.push(...facts.changed);
  const [only, ...others] = main;
  if (whereAt === null || only === undefined || others.length > 0) return;
  facts.fixed.push({ table: toName(only), columns: fixedIn(statement, { verbAt, whereAt, main, written, references }) });
}

function addInsert(facts: StatementFacts, statement: MysqlStatement, table: MysqlTable): void {
  const behind = upperAt(statement, skipPair(statement, table.end));
  if (find(statement, table.end, 'DUPLICATE') === null) facts.insertedInto.push(toName(table));
  if (behind === 'VALUES' || behind === 'VALUE' || behind === 'SET') facts.fixed.push({ table: toName(table), columns: null });
}

/** `DELETE FROM t`, `DELETE a, b FROM …` and `DELETE FROM a, b USING …`, where a and b may be aliases of the tables that follow. */
function targetsOf(statement: MysqlStatement, first: number, main: readonly TableReference[]): TableReference[] {
  const usingAt = find(statement, first, 'USING');
  const listAt = hasWords(statement, first, 'FROM') ? first + 1 : first;
  const isList = listAt === first || usingAt !== null;
  const sourcesAt = listAt === first ? find(statement, first, 'FROM') : usingAt;
  const sources = isList ? main.filter(({ at, inQuery }) => !inQuery && at > (sourcesAt ?? at)) : [];
  const targets: TableReference[] = [];
  for (let at = listAt; at < statement.tokens.length; at += 1) {
    const table = readTable(statement, at);
    if (table === null) break;
    const source = table.schema === null ? onlyMeantBy(table, sources) : undefined;
    const here = main.find((each) => each.at === at);
    targets.push(source ?? here ?? { schema: table.schema, name: table.name, alias: null, at, inQuery: false });
    const end = hasWords(statement, table.end, '.', '*') ? table.end + 2 : table.end;
    if (!isList || upperAt(statement, end) !== ',') break;
    at = end;
  }
  return targets;
}

/** The first such word outside parentheses. A word directly after a dot is a name and does not count. */
function find({ tokens, depths }: MysqlStatement, from: number, word: string): number | null {
  const at = tokens.findIndex(({ upper, dotted }, index) => index > from && upper === word && !dotted && depths[index] === 0);
  return at === -1 ? null : at;
}

/** IN lists with too many elements, at any depth. */
function countLargeLists(statement: MysqlStatement): number {
  const commas = new Map<number, number>();
  const open: number[] = [];
  for (const [at, { upper }] of statement.tokens.entries()) {
    if (upper === '(') open.push(at);
    else if (upper === ')') open.pop();
    else if (upper === ',') commas.set(open.at(-1) ?? -1, (commas.get(open.at(-1) ?? -1) ?? 0) + 1);
  }
  return [...commas].filter(
    ([at, count]) => count + 1 > maxListElements && hasWords(statement, at - 1, 'IN') && !hasWords(statement, at + 1, 'SELECT'),
  ).length;
}

const toName = ({ schema, name }: TableName): TableName => ({ schema, name });
const modifiers = new Set(['LOW_PRIORITY', 'DELAYED', 'HIGH_PRIORITY', 'QUICK', 'IGNORE']);
