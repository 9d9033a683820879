import { listLearntDialects } from '../../db/snapshots.js';
import { can } from '../../domain/permissions.js';
import { dialect } from '../agent/snapshot-body.js';
import type { Services } from '../context.js';
import { list, named, pair } from '../http/fields.js';
import { type Call, type Route, route } from '../http/route.js';

const databases = named('DatabaseList', 'The databases that you may view, by name.', {
  databases: list(
    named('Database', 'A database in one environment.', { ...pair, dialect: dialect.nullable() }),
    'The databases, each once for each environment.',
  ),
});

/** The registered pairs (preflight.md section 4). */
export const databaseRoutes: Route[] = [
  route({
    operationId: 'listDatabases',
    method: 'get',
    path: '/api/databases',
    summary: 'List the databases and environments that you may view',
    tag: 'schemas',
    access: 'request.view',
    status: 200,
    response: databases,
    errors: ['auth.forbidden'],
    handle: listDatabases,
  }),
];

/** DB-1. */
async function listDatabases({ caller, generation }: Call<undefined, undefined, undefined>, services: Services) {
  const learnt = new Map((await listLearntDialects(services.database)).map((row) => [`${row.database} ${row.environment}`, row]));
  const pairs = generation.shared.databases.flatMap(({ name, environments, dialect }) =>
    environments.map((environment) => ({
      database: name,
      environment,
      dialect: dialect ?? learnt.get(`${name} ${environment}`)?.dialect ?? null,
    })),
  );
  const visible = pairs.filter((pair) => can(caller, 'request.view', pair));
  return { databases: visible.toSorted((a, b) => byText(a.database, b.database) || byText(a.environment, b.environment)) };
}

const byText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
