import { notPlanned } from '../../../domain/plan-error.js';
import type { StatementFacts, UsedName } from '../../../domain/statement.js';
import { isListedCall } from '../../../sql/listed-calls.js';
import { builtInOfPostgres } from '../../../sql/postgres/built-ins.js';
import { isNamed } from '../plannable.js';
import type { PostgresSession } from './session.js';
import { type FoundName, findNames } from './used-names.js';

/**
 * Why a statement is not planned before approval, or null (HD-1). PostgreSQL evaluates while it plans: an expression could reveal
 * what it reads through an error, a condition or the number of rows.
 */
export async function whyNotPlannable(
  session: PostgresSession,
  facts: StatementFacts,
  explainFunctions: readonly string[],
): Promise<string | null> {
  const found = await findNames(session, facts);
  const missing = new Set(found.filter(({ kind }) => kind === 'missing').map(({ name }) => name));
  const own = facts.uses.functions.filter((used) => !isHarmlessName(used, explainFunctions, missing)).map(fullName);
  const foreign = found.find(({ kind }) => kind === 'foreign');
  if (foreign !== undefined) return notPlanned(`${foreign.schema}.${foreign.name} is a foreign table`);
  const unsafe = found.filter((one) => !isSafe(one, explainFunctions));
  const operators = facts.uses.operators
    .filter(
      ({ schema, name }) => (schema ?? 'pg_catalog') === 'pg_catalog' && builtInOfPostgres('operators', name) !== 'computes',
    )
    .filter(({ name }) => !found.some((one) => one.kind === 'operator' && one.name === name && one.schema !== 'pg_catalog'))
    .map(({ name }) => name);
  const names = [...own, ...operators, ...unsafe.map(shown)];
  if (names.length === 0) return null;
  const shownNames = [...new Set(names)];
  return notPlanned(`it uses ${shownNames.slice(0, maxShown).join(', ')}${shownNames.length > maxShown ? ', ...' : ''}`);
}

const maxShown = 5;

/**
 * Whether every meaning of a name in the text is a harmless built-in or allowed by the configuration. Judges candidates in other
 * schemas too.
 */
function isHarmlessName({ schema, name }: UsedName, named: readonly string[], missing: ReadonlySet<string>): boolean {
  if (isListedCall(name)) return false;
  const place = schema ?? (missing.has(name) ? null : 'pg_catalog');
  return (place === 'pg_catalog' && builtInOfPostgres('functions', name) === 'computes') || isNamed(named, place, name);
}

const fullName = ({ schema, name }: UsedName): string =>
  `${schema === null || schema === 'pg_catalog' ? '' : `${schema}.`}${name}()`;

/**
 * Whether a candidate is a pure built-in or allowed by the configuration: a function by itself, an operator or type by its
 * function.
 */
function isSafe({ kind, schema, name, by }: FoundName, named: readonly string[]): boolean {
  const isBuiltIn = schema === 'pg_catalog';
  if (kind === 'missing') return true;
  if (kind === 'function')
    return (isBuiltIn && builtInOfPostgres('functions', name) === 'computes') || isNamed(named, schema, name);
  // Row security's questions about the session have the same answer for everybody who asks for a plan.
  if (kind === 'policy') return isBuiltIn ? isQuiet(name) : isNamed(named, schema, name);
  const verdict = isBuiltIn ? builtInOfPostgres(kind === 'operator' ? 'operators' : 'types', name) : null;
  return verdict === 'computes' || (by !== null && isNamedInFull(named, by));
}

const isQuiet = (name: string): boolean =>
  builtInOfPostgres('functions', name) !== null || builtInOfPostgres('operators', name) !== null;

/** `by` is as the server writes it: without its schema when the search path finds it. */
function isNamedInFull(named: readonly string[], by: string): boolean {
  const [schema, name] = by.includes('.') ? by.split('.') : [null, by];
  return isNamed(named, schema ?? null, name ?? '');
}

const shown = ({ kind, schema, name }: FoundName): string => {
  const full = schema === 'pg_catalog' ? name : `${schema}.${name}`;
  return kind === 'type' ? `the type ${full}` : kind === 'operator' ? `the operator ${full}` : `${full}()`;
};
