import { useState } from 'preact/hooks';
import { answer, api, type Schema } from '../../http/client.js';
import { Field } from '../../parts/field.js';
import { Problem } from '../../parts/problem.js';
import { me } from '../../state/session.js';
import { Secret } from './secret.js';

const dayMs = 86_400_000;

/** A token of one's own, for a program or another machine. */
export function NewToken({ onMade }: { onMade: () => void }) {
  const [name, setName] = useState('');
  const [days, setDays] = useState('30');
  const [roles, setRoles] = useState('');
  const [error, setError] = useState<Error | null>(null);
  const [made, setMade] = useState<Schema['CreatedToken'] | null>(null);
  const make = async (event: Event) => {
    event.preventDefault();
    setError(null);
    const ceiling = roles.split(/[\s,]+/).filter((role) => role !== '');
    const body = {
      subject_id: me(),
      subject_type: 'user' as const,
      name: name.trim(),
      expires_at: new Date(Date.now() + Number(days) * dayMs).toISOString(),
      ...(ceiling.length === 0 ? {} : { scope_ceiling: { roles: ceiling } }),
    };
    try {
      setMade(await answer<Schema['CreatedToken']>(api.POST('/api/tokens', { body })));
      setName('');
      onMade();
    } catch (failure) {
      setError(failure as Error);
    }
  };
  return (
    <details class="card">
      <summary>New token of mine</summary>
      <form class="filters" onSubmit={(event) => void make(event)}>
        <Field label="Name">
          {(id) => <input id={id} required value={name} onInput={(event) => setName(event.currentTarget.value)} />}
        </Field>
        <Field label="Days until it expires">
          {(id) => (
            <input
              id={id}
              type="number"
              min={1}
              max={3650}
              required
              value={days}
              onInput={(event) => setDays(event.currentTarget.value)}
            />
          )}
        </Field>
        <Field label="Only these roles (optional)">
          {(id) => <input id={id} value={roles} onInput={(event) => setRoles(event.currentTarget.value)} />}
        </Field>
        <div class="actions">
          <button type="submit" class="primary">
            Create
          </button>
        </div>
      </form>
      <Problem error={error} />
      {made !== null && <Secret token={made.token} of={made.name ?? 'The new token'} onClose={() => setMade(null)} />}
    </details>
  );
}
