import { useState } from 'preact/hooks';
import { answer, api, type Schema } from '../../http/client.js';
import { Badge } from '../../parts/badge.js';
import { chosenIn, textsIn } from '../../parts/fields.js';
import { Show } from '../../parts/page.js';
import { Section } from '../../parts/section.js';
import { Table } from '../../parts/table.js';
import { Name, Text } from '../../parts/text.js';
import { When } from '../../parts/when.js';
import { useLoaded } from '../../state/loaded.js';
import { may } from '../../state/session.js';
import { type Grants, grantFields, useGrants } from './grants.js';
import { MakeForm } from './make-form.js';
import { UserDialog } from './user-dialog.js';

type User = Schema['User'];

export function Users() {
  const users = useLoaded('users', (signal) => answer(api.GET('/api/users', { signal })));
  const there = useGrants();
  const [chosen, setChosen] = useState<string | null>(null);
  return (
    <>
      {may('user.write') && <NewUser there={there} onMade={users.reload} />}
      <Show of={users}>
        {({ users: found }) => {
          const user = found.find(({ id }) => id === chosen);
          return (
            <Section title="Users" note={String(found.length)}>
              <Table label="Users" head={['User', 'State', 'Roles', 'Groups', 'From', 'Last seen', '']}>
                {found.map((one) => (
                  <Row key={one.id} user={one} onChoose={() => setChosen(one.id)} />
                ))}
              </Table>
              {user !== undefined && (
                <UserDialog key={user.id} user={user} there={there} onClose={() => setChosen(null)} onChanged={users.reload} />
              )}
            </Section>
          );
        }}
      </Show>
    </>
  );
}

function Row({ user, onChoose }: { user: User; onChoose: () => void }) {
  const { id, display_name, status, roles, groups, source, last_seen_at } = user;
  return (
    <tr>
      <th scope="row">
        <Name of={id} /> {display_name !== null && display_name !== id && <Text of={display_name} />}
      </th>
      <td>
        <Badge tone={status === 'active' ? 'good' : 'bad'}>{status}</Badge>
      </td>
      <td>
        <Text of={roles.join(', ')} />
      </td>
      <td>
        <Text of={groups.join(', ')} />
      </td>
      <td>{source}</td>
      <td>
        <When at={last_seen_at} />
      </td>
      <td>
        {may('user.write') && (
          <button type="button" class="small" onClick={onChoose} aria-label={`Change ${id}`}>
            Change
          </button>
        )}
      </td>
    </tr>
  );
}

function NewUser({ there, onMade }: { there: Grants; onMade: () => void }) {
  const make = async (given: FormData) => {
    const { id = '' } = textsIn(given);
    const body = { id, roles: chosenIn(given, 'roles'), groups: chosenIn(given, 'groups') };
    const { token } = await answer<Schema['CreatedUser']>(api.POST('/api/users', { body }));
    return { token, of: `The first token of ${id}` };
  };
  const fields = [{ name: 'id', label: 'Id', isRequired: true }, ...grantFields(there)];
  return <MakeForm title="New user" fields={fields} make={make} onMade={onMade} />;
}
