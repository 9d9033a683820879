import { useState } from 'preact/hooks';
import { answer, api, type Schema } from '../../http/client.js';
import { Dialog } from '../../parts/dialog.js';
import { Field } from '../../parts/field.js';
import { Problem } from '../../parts/problem.js';
import { may } from '../../state/session.js';
import { Secret } from './secret.js';

type User = Schema['User'];

interface UserDialogProps {
  user: User;
  onClose: () => void;
  onChanged: () => void;
}

const listed = (text: string) => text.split(/[\s,]+/).filter((entry) => entry !== '');
const without = (all: readonly string[], others: readonly string[]) => all.filter((one) => !others.includes(one));

/** Roles, groups and state of one user. */
export function UserDialog({ user, onClose, onChanged }: UserDialogProps) {
  const [roles, setRoles] = useState(user.roles.join(', '));
  const [groups, setGroups] = useState(user.groups.join(', '));
  const [error, setError] = useState<Error | null>(null);
  const [told, setTold] = useState('');
  const [token, setToken] = useState<string | null>(null);
  const path = { params: { path: { id: user.id } } };
  const run = async (action: () => Promise<string>) => {
    setError(null);
    setTold('');
    await action().then(setTold, setError);
    onChanged();
  };
  const save = async () => {
    const body = {
      add_roles: without(listed(roles), user.roles),
      rm_roles: without(user.roles, listed(roles)),
      add_groups: without(listed(groups), user.groups),
      rm_groups: without(user.groups, listed(groups)),
    };
    await answer(api.PATCH('/api/users/{id}', { ...path, body }));
    return 'Saved.';
  };
  const suspend = async () => {
    const { revoked_tokens, cancelled_requests } = await answer(api.POST('/api/users/{id}/suspend', { ...path, body: {} }));
    return `Suspended: ${revoked_tokens} tokens revoked, ${cancelled_requests.length} requests cancelled.`;
  };
  const activate = async () => {
    await answer(api.POST('/api/users/{id}/activate', { ...path, body: {} }));
    return 'Active again.';
  };
  const reissue = async () => {
    const issued = await answer(api.POST('/api/users/{id}/reissue-initial-token', { ...path, body: {} }));
    setToken((issued as { token: string }).token);
    return 'A new first token was made; the old one holds no more.';
  };
  return (
    <Dialog title={user.id} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void run(save);
        }}
      >
        <Field label="Roles">
          {(id) => <input id={id} value={roles} onInput={(event) => setRoles(event.currentTarget.value)} />}
        </Field>
        <Field label="Groups">
          {(id) => <input id={id} value={groups} onInput={(event) => setGroups(event.currentTarget.value)} />}
        </Field>
        <Problem error={error} />
        <p role="status">{told}</p>
        <div class="actions">
          <button type="submit" class="primary">
            Save
          </button>
          {user.status === 'active' ? (
            <button type="button" class="danger" onClick={() => void run(suspend)}>
              Suspend
            </button>
          ) : (
            <button type="button" onClick={() => void run(activate)}>
              Activate
            </button>
          )}
          {may('token.reissue') && (
            <button type="button" onClick={() => void run(reissue)}>
              New first token
            </button>
          )}
          <button type="button" onClick={onClose}>
            Close
          </button>
        </div>
      </form>
      {token !== null && <Secret token={token} of={`The first token of ${user.id}`} onClose={() => setToken(null)} />}
    </Dialog>
  );
}
