import { asTheyAre } from '../../format/filter-fields.js';
import { answer, api, type Schema } from '../../http/client.js';
import { chosenIn, textsIn } from '../../parts/fields.js';
import { now } from '../../state/clock.js';
import { me, session } from '../../state/session.js';
import { MakeForm } from './make-form.js';

const dayMs = 86_400_000;

/** A token of one's own, for a program or another machine. */
export function NewToken({ onMade }: { onMade: () => void }) {
  const make = async (given: FormData) => {
    const { name = '', days } = textsIn(given);
    const roles = chosenIn(given, 'roles');
    const body = {
      subject_id: me(),
      subject_type: 'user' as const,
      name,
      expires_at: new Date(now.value + Number(days) * dayMs).toISOString(),
      ...(roles.length === 0 ? {} : { scope_ceiling: { roles } }),
    };
    const made = await answer<Schema['CreatedToken']>(api.POST('/api/tokens', { body }));
    return { token: made.token, of: made.name ?? 'The new token' };
  };
  const roles = asTheyAre(session.value?.roles ?? []);
  return (
    <MakeForm
      title="New token of mine"
      fields={[
        { name: 'name', label: 'Name', isRequired: true },
        { name: 'days', label: 'Days until it expires', isRequired: true, within: [1, 3650] },
        { name: 'roles', label: 'Only these roles (all of yours, if none is chosen)', choices: roles, isMany: true },
      ]}
      values={{ days: '30' }}
      make={make}
      onMade={onMade}
    />
  );
}
