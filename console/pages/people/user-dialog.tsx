import { useState } from 'preact/hooks';
import { answer, api, type Schema } from '../../http/client.js';
import { Dialog } from '../../parts/dialog.js';
import { chosenIn, Fields } from '../../parts/fields.js';
import { Problem } from '../../parts/problem.js';
import { may } from '../../state/session.js';
import { type Grants, grantFields } from './grants.js';
import { Secret } from './secret.js';

type User = Schema['User'];

interface UserDialogProps {
  user: User;
  there: Grants;
  onClose: () => void;
  onChanged: () => void;
}

const without = (all: readonly string[], others: readonly string[]) => all.filter((one) => !others.includes(one));

/** Roles, groups and state of one user. */
export function UserDialog({ user, there, onClose, onChanged }: UserDialogProps) {
  const [error, setError] = useState<Error | null>(null);
  const [told, setTold] = useState('');
  const [token, setToken] = useState<string | null>(null);
  const [asksSuspend, setAsksSuspend] = useState(false);
  const path = { params: { path: { id: user.id } } };
  const run = async (action: () => Promise<string>) => {
    setError(null);
    setTold('');
    setAsksSuspend(false);
    await action().then(setTold, setError);
    onChanged();
  };
  const save = async (given: FormData) => {
    const [roles, groups] = [chosenIn(given, 'roles'), chosenIn(given, 'groups')];
    const body = {
      add_roles: without(roles, user.roles),
      rm_roles: without(user.roles, roles),
      add_groups: without(groups, user.groups),
      rm_groups: without(user.groups, groups),
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
          const given = new FormData(event.currentTarget);
          void run(() => save(given));
        }}
      >
        <Fields of={grantFields(there, user)} values={{ roles: user.roles, groups: user.groups }} />
        <Problem error={error} />
        <p role="status">{told}</p>
        {asksSuspend && (
          <p class="problem" role="alert">
            From then on {user.id} can do nothing: all tokens are revoked, and open requests are cancelled.
          </p>
        )}
        <div class="actions">
          <button type="submit" class="primary">
            Save
          </button>
          {user.status === 'active' ? (
            <button type="button" class="danger" onClick={() => (asksSuspend ? void run(suspend) : setAsksSuspend(true))}>
              {asksSuspend ? 'Suspend at once' : 'Suspend'}
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
