import { indexReferences } from './references.js';
import type { SchemaSnapshot, SnapshotConstraint, SnapshotTable, TableLookup, UserCode } from './snapshot.js';
import type { StatementFacts, UsedName } from './statement.js';

/** What runs with the writes of a text besides what it spells out (HD-21). */
export interface Reach {
  /** Functions, operators and casts, from the text and its tables, that are not built-ins without side effects. */
  unlisted: string[];
  /** Tables with triggers or rules that fire. */
  triggered: readonly SnapshotTable[];
  /** The snapshot does not tell this for some table, or for the database. */
  isIncomplete: boolean;
}

export function findReach(facts: readonly StatementFacts[], snapshot: SchemaSnapshot, lookup: TableLookup): Reach {
  const reached = walkActions(
    facts.flatMap(({ changesRows, ...one }) => (changesRows ? startsOf(one, lookup) : [])),
    snapshot,
  );
  // ANALYZE and similar statements evaluate the expressions of indexes.
  const looked = facts.flatMap(({ changesRows, ddl, changed }) => (changesRows || ddl ? [] : changed.flatMap(lookup)));
  const tables = [...new Set([...reached, ...looked])];
  const isTold = snapshot.user_code != null && tables.every(({ triggers, code }) => triggers != null && code != null);
  const shadows = facts.flatMap((one) => shadowsIn(one, snapshot.user_code ?? null));
  const code = tables.flatMap((table) => table.code ?? []).map((name) => `${name}()`);
  return {
    unlisted: [...new Set([...facts.flatMap(({ unlisted }) => unlisted), ...shadows, ...code])],
    triggered: reached.filter(({ triggers }) => (triggers ?? []).length > 0),
    isIncomplete: facts.some(({ changesRows }) => changesRows) && !isTold,
  };
}

/** Names in a statement that the database may resolve to user code: overloads of built-ins, and implicit casts. */
export function shadowsIn({ uses, changesRows, changed }: StatementFacts, made: UserCode | null): string[] {
  if (made === null) return [];
  const isBare = ({ schema }: UsedName) => schema === null;
  const functions = uses.functions.filter((used) => isBare(used) && made.functions.includes(used.name));
  const fields = uses.fields.filter((name) => made.fields.includes(name));
  const operators = uses.operators.filter((used) => isBare(used) && made.operators.includes(used.name)).map(({ name }) => name);
  const casts = changesRows || changed.length > 0 ? made.casts.map((cast) => `cast ${cast}`) : [];
  return [...[...functions.map(({ name }) => name), ...fields].map((name) => `${name}()`), ...operators, ...casts];
}

type Effect = 'inserted' | 'updated' | 'deleted';
interface Start {
  table: SnapshotTable;
  effect: Effect;
}

function startsOf({ changed, deletedFrom, insertedInto }: Omit<StatementFacts, 'changesRows'>, lookup: TableLookup): Start[] {
  const meant = (names: typeof changed) => new Set(names.flatMap(lookup));
  const [deleted, inserted] = [meant(deletedFrom), meant(insertedInto)];
  return [...meant(changed)].map((table) => ({
    table,
    effect: deleted.has(table) ? 'deleted' : inserted.has(table) ? 'inserted' : 'updated',
  }));
}

/** The tables written directly or through foreign keys. A delete also follows update actions, because MERGE may do both. */
function walkActions(starts: readonly Start[], snapshot: SchemaSnapshot): SnapshotTable[] {
  const referencesTo = indexReferences(snapshot);
  const seen = new Map<SnapshotTable, Set<Effect>>();
  const open = [...starts];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { table, effect } = next;
    const effects = seen.get(table) ?? new Set();
    if (effects.has(effect)) continue;
    seen.set(table, effects.add(effect));
    if (effect === 'inserted') continue;
    for (const { table: child, key } of referencesTo(table)) {
      if (effect === 'deleted' && key.on_delete === 'CASCADE') open.push({ table: child, effect: 'deleted' });
      else if (writes(key.on_update) || (effect === 'deleted' && writes(key.on_delete)))
        open.push({ table: child, effect: 'updated' });
    }
  }
  return [...seen.keys()];
}

const writes = (action: SnapshotConstraint['on_delete'] | undefined): boolean =>
  action === 'CASCADE' || action === 'SET_NULL' || action === 'SET_DEFAULT';
