import { useState } from 'preact/hooks';
import { counted } from '../format/counts.js';
import { pointingAt, shownName, syncText } from '../format/schema.js';
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
  const seen = schema.value && (
    <>
      seen <When at={schema.value.collected_at} />
    </>
  );
  return (
    <Section title="Tables" note={seen}>
      <Show of={schema}>
        {(found) => (
          <>
            {syncText(found) !== null && (
              <p class="note">
                <Text of={syncText(found)} />
              </p>
            )}
            <Tables all={(found.tables ?? []) as Table[]} />
          </>
        )}
      </Show>
    </Section>
  );
}

/** Those whose name is wanted. */
function Tables({ all }: { all: readonly Table[] }) {
  const [wanted, setWanted] = useState('');
  const found = all.filter((table) => shownName(table).toLowerCase().includes(wanted.trim().toLowerCase()));
  return (
    <>
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
}

function TableDetails({ table, all }: { table: Table; all: readonly Table[] }) {
  const [isOpen, setIsOpen] = useState(false);
  const { estimated_rows, columns, triggers } = table;
  return (
    <details onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>
        <Name of={shownName(table)} />
        <span class="quiet">{counted(columns.length, 'column')}</span>
        {(triggers?.length ?? 0) > 0 && <Badge tone="wait">triggers</Badge>}
        <span class="spring" />
        <span>{estimated_rows < 0 ? 'size not known' : `about ${counted(estimated_rows, 'row')}`}</span>
      </summary>
      {isOpen && <Whole table={table} all={all} />}
    </details>
  );
}

function Whole({ table, all }: { table: Table; all: readonly Table[] }) {
  return (
    <>
      <Columns of={table} />
      <List title="Indexes" of={table.indexes.map(indexText)} />
      <List title="Points at" of={constraintsOf(table, 'foreign_key').map(pointsAt)} />
      <List
        title="Pointed at by"
        of={pointingAt(table, all).map(
          ({ from, key }) => `${shownName(from)} (${key.columns.join(', ')})${deletes(key.on_delete)}`,
        )}
      />
      <List
        title="Other constraints"
        of={constraintsOf(table, 'unique', 'check').map(
          ({ name, constraint_type, columns }) => `${name}: ${constraint_type} (${columns.join(', ')})`,
        )}
      />
    </>
  );
}

function Columns({ of }: { of: Table }) {
  return (
    <Grid label={`Columns of ${shownName(of)}`} head={['Column', 'Type', 'Null', 'Default']}>
      {of.columns.map(({ name, data_type, nullable, default_value, is_primary_key }) => (
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
  );
}

const constraintsOf = ({ constraints }: Table, ...types: string[]) =>
  constraints.filter(({ constraint_type }) => types.includes(constraint_type));

const indexText = ({ name, columns, is_unique, index_type }: Table['indexes'][number]) =>
  `${name} (${columns.join(', ')}) ${index_type}${is_unique ? ', unique' : ''}`;

const pointsAt = (key: Schema['Constraint']) =>
  `${key.columns.join(', ')} → ${key.referenced_table} (${key.referenced_columns?.join(', ')})${deletes(key.on_delete)}`;

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
