import { answer, api } from '../../http/client.js';
import { Show } from '../../parts/page.js';
import { Section } from '../../parts/section.js';
import { Table } from '../../parts/table.js';
import { Name, Text } from '../../parts/text.js';
import { useLoaded } from '../../state/loaded.js';

/** Groups stand in server.toml; who is in them, with the users. */
export function Groups() {
  const groups = useLoaded('groups', (signal) => answer(api.GET('/api/groups', { signal })));
  return (
    <Show of={groups}>
      {({ groups: names }) => (
        <Section title="Groups" note={String(names.length)}>
          <Table label="Groups" head={['Group', 'Roles', 'Members']}>
            {names.map((name) => (
              <Row key={name} name={name} />
            ))}
          </Table>
        </Section>
      )}
    </Show>
  );
}

function Row({ name }: { name: string }) {
  const { value } = useLoaded(`group ${name}`, (signal) =>
    answer(api.GET('/api/groups/{name}', { params: { path: { name } }, signal })),
  );
  return (
    <tr>
      <th scope="row">
        <Name of={name} />
      </th>
      <td>
        <Text of={value?.roles.join(', ') ?? '…'} />
      </td>
      <td>
        <Text of={value?.members.join(', ') ?? '…'} />
      </td>
    </tr>
  );
}
