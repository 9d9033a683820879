import { answer, api } from '../../http/client.js';
import { Show } from '../../parts/page.js';
import { Section } from '../../parts/section.js';
import { Table } from '../../parts/table.js';
import { Name, Text } from '../../parts/text.js';
import { useLoaded } from '../../state/loaded.js';

export function Roles() {
  const roles = useLoaded('roles', (signal) => answer(api.GET('/api/roles', { signal })));
  return (
    <Show of={roles}>
      {({ roles: found }) => (
        <Section title="Roles" note={String(found.length)}>
          <Table label="Roles" head={['Role', 'Allows', 'On']}>
            {found.map(({ name, builtin, permissions, databases, environments }) => (
              <tr key={name}>
                <th scope="row">
                  <Name of={name} /> {builtin && <span class="quiet">built in</span>}
                </th>
                <td class="long">
                  <Text
                    of={permissions
                      .map(({ perm, ownership }) => (ownership === 'any' && perm !== '*' ? `${perm} (of everybody)` : perm))
                      .join(', ')}
                  />
                </td>
                <td>
                  <Text of={`${databases.join(', ')} / ${environments.join(', ')}`} />
                </td>
              </tr>
            ))}
          </Table>
        </Section>
      )}
    </Show>
  );
}
