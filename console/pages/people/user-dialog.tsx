import { useState } from 'preact/hooks';
import { counted } from '../../format/counts.js';
import { answer, api, type Schema } from '../../http/client.js';
import { Dialog } from '../../parts/dialog.js';
import { chosenIn, Fields } from '../../parts/fields.js';
import { Problem } from '../../parts/problem.js';
import { isRepeated, useSending } from '../../state/sending.js';
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
  const { run, askOrSuspend, error, told, asksSuspend } = useChanging(user, onChanged);
  const [token, setToken] = useState<string | null>(null);
  return (
    <Dialog title={user.id} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const given = new FormData(event.currentTarget);
          run(() => save(user, given));
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
          <State of={user} isSure={asksSuspend} onSuspend={askOrSuspend} onActivate={() => run(() => activate(user))} />
          {may('token.reissue') && (
            <button type="button" onClick={(press) => run(() => reissue(user, setToken), press)}>
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

/** One change at a time; a suspension is asked about first. */
function useChanging(user: User, onChanged: () => void) {
  const { error, told, send } = useSending(onChanged);
  const [asksSuspend, setAsksSuspend] = useState(false);
  const run: typeof send = (action, press) => {
    setAsksSuspend(false);
    send(action, press);
  };
  // The second click of a double click would answer what nobody has read yet.
  const askOrSuspend = (press: MouseEvent) => {
    if (!asksSuspend) setAsksSuspend(true);
    else if (!isRepeated(press)) run(() => suspend(user));
  };
  return { run, askOrSuspend, error, told, asksSuspend };
}

interface StateProps {
  of: User;
  /** Whether it was asked already, so that the next press counts. */
  isSure: boolean;
  onSuspend: (press: MouseEvent) => void;
  onActivate: () => void;
}

function State({ of, isSure, onSuspend, onActivate }: StateProps) {
  if (of.status === 'active')
    return (
      <button type="button" class="danger" onClick={onSuspend}>
        {isSure ? 'Suspend at once' : 'Suspend'}
      </button>
    );
  return (
    <button type="button" onClick={onActivate}>
      Activate
    </button>
  );
}

const pathOf = ({ id }: User) => ({ params: { path: { id } } });

async function save(user: User, given: FormData): Promise<string> {
  const [roles, groups] = [chosenIn(given, 'roles'), chosenIn(given, 'groups')];
  const body = {
    add_roles: without(roles, user.roles),
    rm_roles: without(user.roles, roles),
    add_groups: without(groups, user.groups),
    rm_groups: without(user.groups, groups),
  };
  await answer(api.PATCH('/api/users/{id}', { ...pathOf(user), body }));
  return 'Saved.';
}

async function suspend(user: User): Promise<string> {
  const { revoked_tokens, cancelled_requests } = await answer(api.POST('/api/users/{id}/suspend', { ...pathOf(user), body: {} }));
  return `Suspended: ${counted(revoked_tokens, 'token')} revoked, ${counted(cancelled_requests.length, 'request')} cancelled.`;
}

async function activate(user: User): Promise<string> {
  await answer(api.POST('/api/users/{id}/activate', { ...pathOf(user), body: {} }));
  return 'Active again.';
}

async function reissue(user: User, onToken: (token: string) => void): Promise<string> {
  const issued = await answer(api.POST('/api/users/{id}/reissue-initial-token', { ...pathOf(user), body: {} }));
  onToken((issued as { token: string }).token);
  return 'A new first token was made; the old one holds no more.';
}
