import { withCommas } from '../../../lib/counts.js';
import { affectedTables } from '../../format/affected.js';
import type { Schema } from '../../http/client.js';
import { Section } from '../../parts/section.js';
import { Table } from '../../parts/table.js';
import { Name, Text } from '../../parts/text.js';
import { When } from '../../parts/when.js';

export function Tables({ context }: { context: Schema['Request']['context'] }) {
  const tables = affectedTables(context);
  if (tables.length === 0) return null;
  const seen = context.schema_snapshot_collected_at;
  const note =
    seen === null ? undefined : (
      <>
        seen <When at={seen} />
      </>
    );
  return (
    <Section title="Tables" note={note}>
      <Table label="Tables that it names" head={['Table', 'Rows', 'Also affects']} numbers={['Rows']}>
        {tables.map(({ name, rows, cascades, hasMoreCascades, hasTriggers }) => (
          <tr key={name}>
            <th scope="row">
              <Name of={name} />
            </th>
            <td class="number">{rows === null ? 'not known' : withCommas(rows)}</td>
            <td>
              {cascades.length > 0 && (
                <>
                  a DELETE also removes rows of <Text of={cascades.join(', ')} />
                  {hasMoreCascades && ' and more'}
                </>
              )}
              {hasTriggers && <span> triggers run</span>}
              {cascades.length === 0 && !hasTriggers && <span class="quiet">nothing</span>}
            </td>
          </tr>
        ))}
      </Table>
    </Section>
  );
}
