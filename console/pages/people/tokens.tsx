import { useState } from 'preact/hooks';
import { visible } from '../../../lib/visible.js';
import { answer, api, type Schema } from '../../http/client.js';
import { Badge } from '../../parts/badge.js';
import { Dialog } from '../../parts/dialog.js';
import { Show } from '../../parts/page.js';
import { Problem } from '../../parts/problem.js';
import { Section } from '../../parts/section.js';
import { Table } from '../../parts/table.js';
import { Name, Text } from '../../parts/text.js';
import { When } from '../../parts/when.js';
import { useLoaded } from '../../state/loaded.js';
import { may, me } from '../../state/session.js';
import { NewToken } from './new-token.js';

type Token = Schema['Token'];

const tones = { active: 'good', expired: 'off', revoked: 'off' } as const satisfies Record<Token['status'], string>;

/** The caller's tokens, and with the permission everybody's. */
export function Tokens() {
  const tokens = useLoaded('tokens', (signal) => answer(api.GET('/api/tokens', { signal })));
  const [asked, setAsked] = useState<Token | null>(null);
  return (
    <>
      {may('token.create') && <NewToken onMade={tokens.reload} />}
      <Show of={tokens}>
        {({ tokens: found }) => (
          <Section title="Tokens" note={String(found.length)}>
            <Table label="Tokens" head={['Name', 'Of', 'Begins with', 'State', 'At most', 'Made', 'Expires', '']}>
              {found.map((token) => (
                <Row key={token.id} token={token} onRevoke={() => setAsked(token)} />
              ))}
            </Table>
            {asked !== null && <Revoke token={asked} onClose={() => setAsked(null)} onDone={tokens.reload} />}
          </Section>
        )}
      </Show>
    </>
  );
}

const mayRevoke = ({ status, subject_id }: Token) =>
  status === 'active' && (subject_id === me() || may('token.list')) && may('token.revoke');

function Row({ token, onRevoke }: { token: Token; onRevoke: () => void }) {
  return (
    <tr>
      <th scope="row">
        <Text of={token.name ?? token.provisioning_kind ?? 'without a name'} />
      </th>
      <td>
        <Name of={token.subject_id} /> {token.subject_type === 'agent' && <span class="quiet">agent</span>}
      </td>
      <td>
        <Name of={token.token_prefix} />
      </td>
      <td>
        <Badge tone={tones[token.status]}>{token.status}</Badge>
      </td>
      <td>
        <Text of={token.scope_ceiling?.roles.join(', ') ?? token.agent_scopes?.join(', ') ?? 'all its roles'} />
      </td>
      <td>
        <When at={token.created_at} />
      </td>
      <td>
        <When at={token.expires_at} />
      </td>
      <td>
        {mayRevoke(token) && (
          <button
            type="button"
            class="small"
            onClick={onRevoke}
            aria-label={`Revoke ${visible(token.name ?? token.token_prefix)}`}
          >
            Revoke
          </button>
        )}
      </td>
    </tr>
  );
}

function Revoke({ token, onClose, onDone }: { token: Token; onClose: () => void; onDone: () => void }) {
  const [error, setError] = useState<Error | null>(null);
  const revoke = async () => {
    try {
      await answer(api.DELETE('/api/tokens/{id}', { params: { path: { id: token.id } } }));
      onClose();
    } catch (failure) {
      setError(failure as Error);
    }
    onDone();
  };
  return (
    <Dialog title="Revoke this token?" onClose={onClose}>
      <p>
        <Text of={token.name ?? token.token_prefix} /> of <Name of={token.subject_id} /> holds no more from then on, and what was
        made from it neither.
      </p>
      <Problem error={error} />
      <div class="actions">
        <button type="button" class="danger" onClick={() => void revoke()}>
          Revoke
        </button>
        <button type="button" onClick={onClose}>
          Keep it
        </button>
      </div>
    </Dialog>
  );
}
