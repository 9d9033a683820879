import { useState } from 'preact/hooks';
import { withCommas } from '../../lib/counts.js';
import { answer, api, type Schema } from '../http/client.js';
import { Refused } from '../http/refused.js';
import { Badge } from '../parts/badge.js';
import { Problem } from '../parts/problem.js';
import { Facts, Section } from '../parts/section.js';
import { Name } from '../parts/text.js';
import { When } from '../parts/when.js';
import { useLoaded } from '../state/loaded.js';

type Verification = Schema['AuditVerification'];

/** Whether the log is whole; asked only when somebody wants to know, because it reads all of it. */
export function Chain() {
  const [found, setFound] = useState<Verification | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [isBusy, setIsBusy] = useState(false);
  const { value: head, error: noHead } = useLoaded('head of the log', loadHead);
  const verify = async () => {
    setIsBusy(true);
    setError(null);
    await answer<Verification>(api.GET('/api/audit/verify', {})).then(setFound, setError);
    setIsBusy(false);
  };
  return (
    <Section
      title="Chain"
      note={
        <button type="button" class="small" disabled={isBusy} onClick={() => void verify()}>
          {isBusy ? 'Verifying …' : 'Verify'}
        </button>
      }
    >
      <Problem error={error ?? (isRefused(noHead) ? null : noHead)} />
      <div role="status">
        {found === null ? (
          <>
            <p class="quiet">Each event is sealed with the hash of the one before. Verify reads them all.</p>
            {head !== undefined && <Newest of={head} />}
          </>
        ) : (
          <Outcome of={found} />
        )}
      </div>
    </Section>
  );
}

/** Only who may read all of the log is told its head. */
const isRefused = (error: Error | null) => error instanceof Refused && error.status === 403;

interface Head {
  size: number;
  root: string;
}

function Newest({ of: { size, root } }: { of: Head }) {
  return (
    <Facts
      of={[
        ['Sealed events', withCommas(size)],
        ['Root', <Name key="root" of={root} />],
      ]}
    />
  );
}

/** Of the signed note of the log, whose second and third lines are its size and its root (AU-81). */
async function loadHead(signal: AbortSignal): Promise<Head> {
  const note = await answer<string>(api.GET('/api/audit/checkpoint', { parseAs: 'text', signal }));
  const [, size = '', root = ''] = note.split('\n');
  return { size: Number(size), root };
}

function Outcome({ of }: { of: Verification }) {
  return (
    <>
      <p>
        {of.valid ? <Badge tone="good">✓ whole</Badge> : <Badge tone="bad">✕ broken: {of.reason?.replaceAll('_', ' ')}</Badge>}{' '}
        {withCommas(of.total_events)} events, {withCommas(of.sealed)} sealed, {withCommas(of.unsealed)} not yet
      </p>
      <Facts
        of={[
          ['First broken', of.first_broken_seq === null ? '' : String(of.first_broken_seq)],
          ['Newest', of.head_seq === null ? '' : withCommas(of.head_seq)],
          ['Its hash', of.head_hash !== null && <Name of={of.head_hash} />],
          ['Oldest unsealed', of.oldest_unsealed_at !== null && <When at={of.oldest_unsealed_at} />],
        ]}
      />
    </>
  );
}
