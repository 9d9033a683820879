import type { SnapshotTable, UserCode } from '../../domain/snapshot.js';
import { isListedCall } from '../../sql/listed-calls.js';
import { byTable, type Row, text } from './rows.js';

/** What a write to a table runs and how its rows can be told apart (HD-21, HD-96), from the queries' rows in their order. */
export function assembleCode([triggers = [], code = [], expressions = [], keys = [], namesakes = [], halfSeen = []]: Row[][]) {
  const triggersOf = byTable(triggers, ([name]) => text(name));
  const codeOf = byTable(code, ([name]) => text(name));
  const listedOf = byTable(expressions, ([expression]) => listedCallsIn(text(expression)));
  const keysOf = byTable(keys, ([columns]) => JSON.parse(columns ?? '[]') as string[]);
  const ambiguous = new Set(namesakes.map(([oid]) => text(oid)));
  const untold = new Set(halfSeen.map(([oid]) => text(oid)));
  return (oid: string): Pick<SnapshotTable, 'triggers' | 'code' | 'keys' | 'has_namesakes'> => ({
    triggers: untold.has(oid) ? null : (triggersOf.get(oid) ?? []),
    code: [...new Set([...(codeOf.get(oid) ?? []), ...(listedOf.get(oid) ?? []).flat()])],
    keys: keysOf.get(oid) ?? [],
    has_namesakes: ambiguous.has(oid),
  });
}

/** Above this many names none are sent, and then no name is known to be a built-in. */
const MAX_NAMES = 10_000;

/** Null when there are too many. */
export function userCode(rows: readonly Row[]): UserCode | null {
  if (rows.length > MAX_NAMES) return null;
  const named = (kind: string) => rows.filter(([of]) => of === kind).map(([, name]) => text(name));
  return { functions: named('function'), fields: named('field'), operators: named('operator'), casts: named('cast') };
}

/** Built-ins with effects in an expression's text. A default that takes the next value of a sequence is harmless. */
function listedCallsIn(expression: string): string[] {
  const names = [...expression.matchAll(/([\w$]+)"?\s*\(/g)].map(([, name]) => name ?? '');
  return [...new Set(names)].filter((name) => isListedCall(name) && name !== 'nextval');
}
