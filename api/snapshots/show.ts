import { iso } from '../../db/row-types.js';
import { findSnapshot, findTables, listSnapshotHeads, listTableSummaries, type SnapshotHead } from '../../db/snapshots.js';
import type { Caller, Pair } from '../../domain/caller.js';
import { forbidden, notFound, refusal } from '../../domain/errors.js';
import { lacking } from '../../domain/lacking.js';
import { can, canInDatabase } from '../../domain/permissions.js';
import type { SnapshotTable } from '../../domain/snapshot.js';
import type { Generation, Services } from '../context.js';
import { type Reply, reply } from '../http/reply.js';
import type { Call } from '../http/route.js';

export interface SchemaQuery {
  environment?: string | undefined;
  table?: string | undefined;
  summary: boolean;
}

type SchemaCall = Call<{ database: string }, SchemaQuery, undefined>;

/** `GET /api/schemas/{database}` (preflight.md section 5): the last good snapshot, even if later syncs fail. */
export async function showSchema(call: SchemaCall, services: Services): Promise<Reply> {
  const { database } = call.params;
  const { environment, table, summary } = call.query;
  const asked = environment === undefined ? null : { database, environment };
  const allowed = asked === null ? canInDatabase(call.caller, 'request.view', database) : can(call.caller, 'request.view', asked);
  if (!allowed)
    throw asked === null
      ? forbidden(`you lack request.view on every environment of ${database}`)
      : lacking(['request.view'], asked);
  const environments = readableEnvironments(call.generation, call.caller, database, asked);
  const head = chosen(await listSnapshotHeads(services.database, database), environments);
  const pair = { database, environment: head.environment };
  return reply(200, {
    database,
    environment: head.environment,
    dialect: head.dialect,
    status: head.last_status,
    error_message: head.last_status === 'ready' ? null : head.last_error,
    collected_at: iso(head.collected_at),
    ...(table === undefined
      ? { tables: await tables(services, pair, summary) }
      : { table: await oneTable(services, pair, table) }),
  });
}

/** SC-5: the database's registered environments that the caller may view. */
function readableEnvironments(generation: Generation, caller: Caller, database: string, asked: Pair | null): string[] {
  const entry = generation.shared.databases.find(({ name }) => name === database);
  if (entry === undefined || (asked !== null && !entry.environments.includes(asked.environment))) throw notFound('database');
  if (asked !== null) return [asked.environment];
  return entry.environments.filter((environment) => can(caller, 'request.view', { database, environment }));
}

const usualOrder = ['production', 'staging', 'development'];

/** SC-1, SC-6: the first environment with a good snapshot. `heads` are sorted by name. */
function chosen(heads: readonly SnapshotHead[], environments: readonly string[]): SnapshotHead {
  const readable = heads.filter(({ environment }) => environments.includes(environment));
  const usual = usualOrder.flatMap((name) => readable.find(({ environment }) => environment === name) ?? []);
  const head = usual[0] ?? readable[0];
  if (head !== undefined) return head;
  throw refusal('schema.not_found', 'schema not found', 'start an agent for this database and environment');
}

async function tables(services: Services, pair: Pair, summary: boolean) {
  if (summary) return listTableSummaries(services.database, pair);
  return (await findSnapshot(services.database, pair))?.snapshot.tables ?? [];
}

/** SC-7: `name` or `schema.name`, split at the first dot. */
async function oneTable(services: Services, pair: Pair, text: string): Promise<SnapshotTable> {
  const dot = text.indexOf('.');
  const [schema, name] = dot < 0 ? [null, text] : [text.slice(0, dot), text.slice(dot + 1)];
  const found = await findTables(services.database, pair, name, schema);
  if (found.length === 1) return found[0]!;
  const hint =
    found.length === 0
      ? 'names are compared exactly; without the name of a table the answer lists all'
      : `found in the schemas ${found.map((table) => table.schema_name).join(', ')}`;
  throw refusal('table.not_found', 'table not found', hint);
}
