import { useState } from 'preact/hooks';
import { withCommas } from '../../lib/counts.js';
import { pointingAt, shownName } from '../format/schema.js';
import { answer, api, type Schema } from '../http/client.js';
import { Badge } from '../parts/badge.js';
import { Show } from '../parts/page.js';
import { Empty, Section } from '../parts/section.js';
import { Table as Grid } from '../parts/table.js';
import { Name, Text } from '../parts/text.js';
import { When } from '../parts/when.js';
import { useLoaded } from '../state/loaded.js';

type Table = Schema['Table'];

const maxShown = 200;

/** The tables as an agent last saw them. */
export function SchemaBrowser({ database, environment }: { database: string; environment: string }) {
  const params = { path: { database }, query: { environment, summary: false } };
  const schema = useLoaded(`schema ${database}/${environment}`, (signal) =>
    answer<Schema['DatabaseSchema']>(api.GET('/api/schemas/{database}', { params, signal })),
  );
  const [wanted, setWanted] = useState('');
  const seen = schema.value && (
    <>
      seen <When at={schema.value.collected_at} />
    </>
  );
  return (
    <Section title="Tables" note={seen}>
      <Show of={schema}>
        {({ tables, error_message }) => {
          const all = (tables ?? []) as Table[];
          const found = all.filter((table) => shownName(table).toLowerCase().includes(wanted.trim().toLowerCase()));
          return (
            <>
              {error_message !== null && (
                <p class="note">
                  <Text of={error_message} />
                </p>
              )}
              <label class="search">
                <span class="hidden">Only tables whose name contains</span>
                <input
                  type="search"
                  placeholder="only tables with …"
                  value={wanted}
                  onInput={(event) => setWanted(event.currentTarget.value)}
                />
              </label>
              {found.length === 0 && <Empty>No table.</Empty>}
              <div class="events">
                {found.slice(0, maxShown).map((table) => (
                  <TableDetails key={shownName(table)} table={table} all={all} />
                ))}
              </div>
              {found.length > maxShown && <p class="quiet">{found.length - maxShown} more; narrow the search.</p>}
            </>
          );
        }}
      </Show>
    </Section>
  );
}

function TableDetails({ table, all }: { table: Table; all: readonly Table[] }) {
  const [isOpen, setIsOpen] = useState(false);
  const { estimated_rows, columns, triggers } = table;
  return (
    <details onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>
        <Name of={shownName(table)} />
        <span class="quiet">{columns.length} columns</span>
        {(triggers?.length ?? 0) > 0 && <Badge tone="wait">triggers</Badge>}
        <span class="spring" />
        <span>{estimated_rows < 0 ? 'size not known' : `about ${withCommas(estimated_rows)} rows`}</span>
      </summary>
      {isOpen && <Whole table={table} all={all} />}
    </details>
  );
}

function Whole({ table, all }: { table: Table; all: readonly Table[] }) {
  const keys = table.constraints.filter(({ constraint_type }) => constraint_type === 'foreign_key');
  const others = table.constraints.filter(({ constraint_type }) => constraint_type === 'unique' || constraint_type === 'check');
  return (
    <>
      <Grid label={`Columns of ${shownName(table)}`} head={['Column', 'Type', 'Null', 'Default']}>
        {table.columns.map(({ name, data_type, nullable, default_value, is_primary_key }) => (
          <tr key={name}>
            <th scope="row">
              <Name of={name} /> {is_primary_key && <Badge tone="go">key</Badge>}
            </th>
            <td>
              <Text of={data_type} />
            </td>
            <td>{nullable ? 'yes' : 'no'}</td>
            <td>{default_value !== null && <Name of={default_value} />}</td>
          </tr>
        ))}
      </Grid>
      <List
        title="Indexes"
        of={table.indexes.map(
          ({ name, columns, is_unique, index_type }) =>
            `${name} (${columns.join(', ')}) ${index_type}${is_unique ? ', unique' : ''}`,
        )}
      />
      <List
        title="Points at"
        of={keys.map(
          (key) =>
            `${key.columns.join(', ')} → ${key.referenced_table} (${key.referenced_columns?.join(', ')})${deletes(key.on_delete)}`,
        )}
      />
      <List
        title="Pointed at by"
        of={pointingAt(table, all).map(
          ({ from, key }) => `${shownName(from)} (${key.columns.join(', ')})${deletes(key.on_delete)}`,
        )}
      />
      <List
        title="Other constraints"
        of={others.map(({ name, constraint_type, columns }) => `${name}: ${constraint_type} (${columns.join(', ')})`)}
      />
    </>
  );
}

const deletes = (rule: string | null) =>
  rule === null || rule === 'NO_ACTION' ? '' : `, on delete ${rule.toLowerCase().replaceAll('_', ' ')}`;

function List({ title, of }: { title: string; of: readonly string[] }) {
  if (of.length === 0) return null;
  return (
    <div class="named">
      <h3>{title}</h3>
      <ul class="plain-list">
        {of.map((line) => (
          <li key={line}>
            <Name of={line} />
          </li>
        ))}
      </ul>
    </div>
  );
}
