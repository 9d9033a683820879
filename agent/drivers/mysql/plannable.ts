import { notPlanned } from '../../../domain/plan-error.js';
import type { StatementFacts, TableName } from '../../../domain/statement.js';
import { shownName, usesBeyondComputing } from '../../../sql/uses.js';
import { isNamed } from '../plannable.js';
import type { MysqlSession } from './session.js';

/** Engines that store tables in the server's own files; others query other servers, or are views. */
const ownEngines = new Set(['InnoDB', 'MyISAM', 'Aria', 'MEMORY', 'ROCKSDB']);
const tableTypes = new Set(['BASE TABLE', 'SYSTEM VERSIONED']);
const systemSchemas = new Set(['mysql', 'information_schema', 'performance_schema', 'sys']);
const maxShown = 5;

/**
 * Why a statement is not planned before approval, or null (HD-1): while planning, the server evaluates what it considers
 * constant.
 */
export async function whyNotPlannable(
  session: MysqlSession,
  { uses, named }: StatementFacts,
  explainFunctions: readonly string[],
): Promise<string | null> {
  const functions = uses.functions.filter(({ schema, name }) => !isNamed(explainFunctions, schema || null, name));
  const beyond = usesBeyondComputing('mysql', { ...uses, functions });
  if (beyond.length > 0)
    return notPlanned(`it uses ${beyond.slice(0, maxShown).join(', ')}${beyond.length > maxShown ? ', ...' : ''}`);
  const other = await findOtherTable(session, named);
  return other === null ? null : notPlanned(`${other} is no table of this server's own`);
}

/** The first name that is a view, a system table or uses another engine. Missing names are left to the server. */
async function findOtherTable(session: MysqlSession, named: readonly TableName[]): Promise<string | null> {
  const system = named.find(({ schema }) => systemSchemas.has(schema?.toLowerCase() ?? ''));
  if (system !== undefined) return shown(system.schema, system.name);
  if (named.length === 0) return null;
  const rows = await session.query(
    `select table_schema, table_name, engine, table_type from information_schema.tables
     where (table_schema, table_name) in (${named.map(() => '(coalesce(?, database()), ?)').join(', ')})`,
    named.flatMap(({ schema, name }) => [schema as string, name]),
  );
  const other = rows.find(
    ([schema, , engine, type]) =>
      systemSchemas.has(schema?.toLowerCase() ?? '') || !ownEngines.has(engine ?? '') || !tableTypes.has(type ?? ''),
  );
  return other === undefined ? null : shown(other[0] ?? null, other[1] ?? '');
}

const shown = (schema: string | null, name: string): string => shownName('types', { schema, name });
