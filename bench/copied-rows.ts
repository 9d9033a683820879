import type pg from 'pg';
import type { StoredRequest } from '../domain/request/types.js';

/**
 * Stores copies of a request with all its rows. Each copy gives its `id`, `execution_id`, `requester`, the `shift` of its instants, its codes, and
 * the `view` of the news that starts its workflow, if it needs one.
 */
export type Copier = (template: StoredRequest, copies: readonly object[]) => Promise<void>;

interface Table {
  name: string;
  /** The column by which rows belong to a request. */
  by: 'id' | 'request_id';
  /** What a copy has in these columns, from `made`, the row `t`, and `template` with its `id` and `execution_id`. Other instants are shifted. */
  values: Readonly<Record<string, string>>;
  /** Leaves out rows. */
  where?: string;
}

const newId = 'gen_random_uuid()';
const request_id = 'made.id';

const tables: readonly Table[] = [
  {
    name: 'requests',
    by: 'id',
    values: { id: request_id, requester: 'made.requester', request_mac: 'made.request_mac', state_mac: 'made.state_mac' },
  },
  { name: 'request_contexts', by: 'request_id', values: { request_id } },
  { name: 'dry_run_jobs', by: 'request_id', values: { id: newId, request_id } },
  { name: 'decisions', by: 'request_id', values: { id: newId, request_id, mac: 'made.decision_mac' } },
  {
    name: 'executions',
    by: 'request_id',
    values: { id: 'made.execution_id', request_id, claim_id: `case when t.claim_id is not null then ${newId} end` },
  },
  {
    name: 'results',
    by: 'request_id',
    values: { execution_id: 'made.execution_id', request_id, requester: 'made.requester' },
    // The others would have been removed by now.
    where: 't.expires_at + made.shift > now()',
  },
  {
    name: 'audit_events',
    by: 'request_id',
    values: {
      id: newId,
      request_id,
      seq: 'null',
      prev_hash: 'null',
      event_hash: 'null',
      actor_id: `case when t.actor_id = 'alice' then made.requester else t.actor_id end`,
      resource_id: `case t.resource_id when template.id::text then made.id::text when template.execution_id::text then made.execution_id::text else t.resource_id end`,
      metadata_json: `replace(t.metadata_json, coalesce(template.execution_id::text, ' '), coalesce(made.execution_id::text, ' '))`,
      created_at: `to_char((t.created_at::timestamptz + made.shift) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`,
    },
  },
];

const made = `create temporary table made on commit drop as select * from jsonb_to_recordset($1::jsonb)
  as made(id uuid, execution_id uuid, requester text, shift interval, request_mac text, state_mac text, decision_mac text, view jsonb)`;

const news = `insert into outbox (request_id, version, signal, actor, view, starts, lingers, due_at)
  select id, (view->>'version')::bigint, 'change', requester, view, true, false, clock_timestamp() from made where view is not null`;

/** Reads which columns the tables have. */
export async function prepareCopier(client: pg.PoolClient): Promise<Copier> {
  const texts: string[] = [];
  for (const table of tables) texts.push(await copyText(client, table));
  return async (template, copies) => {
    if (copies.length === 0) return;
    await client.query('begin');
    await client.query(made, [JSON.stringify(copies)]);
    for (const text of texts) await client.query(text, [template.id, template.execution?.id ?? null]);
    await client.query(news);
    await client.query('commit');
  };
}

async function copyText(client: pg.PoolClient, { name, by, values, where }: Table): Promise<string> {
  const { rows } = await client.query<{ column: string; shifts: boolean }>(
    `select attname as column, atttypid = 'timestamptz'::regtype as shifts from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped and attidentity = ''`,
    [name],
  );
  const copied = rows.map(({ column, shifts }) => values[column] ?? (shifts ? `t.${column} + made.shift` : `t.${column}`));
  return `with template as (select $1::uuid as id, $2::uuid as execution_id)
    insert into ${name} (${rows.map(({ column }) => `"${column}"`).join(', ')})
    select ${copied.join(', ')} from template cross join made join ${name} t on t.${by} = template.id ${where === undefined ? '' : `where ${where}`}`;
}
