import { useState } from 'preact/hooks';
import { answer, api, type Schema } from '../../http/client.js';
import { Badge } from '../../parts/badge.js';
import { Field } from '../../parts/field.js';
import { Show } from '../../parts/page.js';
import { Problem } from '../../parts/problem.js';
import { Section } from '../../parts/section.js';
import { Table } from '../../parts/table.js';
import { Name, Text } from '../../parts/text.js';
import { When } from '../../parts/when.js';
import { useLoaded } from '../../state/loaded.js';
import { may } from '../../state/session.js';
import { Secret } from './secret.js';
import { UserDialog } from './user-dialog.js';

type User = Schema['User'];

export function Users() {
  const users = useLoaded('users', (signal) => answer(api.GET('/api/users', { signal })));
  const [chosen, setChosen] = useState<string | null>(null);
  return (
    <>
      {may('user.write') && <NewUser onMade={users.reload} />}
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
                <UserDialog key={user.id} user={user} onClose={() => setChosen(null)} onChanged={users.reload} />
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

const listed = (text: string) => text.split(/[\s,]+/).filter((entry) => entry !== '');

function NewUser({ onMade }: { onMade: () => void }) {
  const [id, setId] = useState('');
  const [roles, setRoles] = useState('');
  const [groups, setGroups] = useState('');
  const [error, setError] = useState<Error | null>(null);
  const [made, setMade] = useState<Schema['CreatedUser'] | null>(null);
  const make = async (event: Event) => {
    event.preventDefault();
    setError(null);
    try {
      setMade(
        await answer<Schema['CreatedUser']>(
          api.POST('/api/users', { body: { id: id.trim(), roles: listed(roles), groups: listed(groups) } }),
        ),
      );
      setId('');
      onMade();
    } catch (failure) {
      setError(failure as Error);
    }
  };
  return (
    <details class="card">
      <summary>New user</summary>
      <form class="filters" onSubmit={(event) => void make(event)}>
        <Field label="Id">
          {(field) => <input id={field} required value={id} onInput={(event) => setId(event.currentTarget.value)} />}
        </Field>
        <Field label="Roles">
          {(field) => (
            <input id={field} placeholder="requester" value={roles} onInput={(event) => setRoles(event.currentTarget.value)} />
          )}
        </Field>
        <Field label="Groups">
          {(field) => <input id={field} value={groups} onInput={(event) => setGroups(event.currentTarget.value)} />}
        </Field>
        <div class="actions">
          <button type="submit" class="primary">
            Create
          </button>
        </div>
      </form>
      <Problem error={error} />
      {made !== null && <Secret token={made.token} of={`The first token of ${made.id}`} onClose={() => setMade(null)} />}
    </details>
  );
}
