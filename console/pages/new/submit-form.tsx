import { useMemo, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { answer, api, type Schema } from '../../http/client.js';
import { Field } from '../../parts/field.js';
import { Problem } from '../../parts/problem.js';
import { Section } from '../../parts/section.js';
import { Text } from '../../parts/text.js';
import { may } from '../../state/session.js';
import { type Draft, dropDraft, sharedWith } from './draft.js';
import { Emergency } from './emergency.js';

interface SubmitProps {
  draft: Draft;
  set: (change: Partial<Draft>) => void;
  preflight: Schema['Preflight'] | null;
}

interface Flags {
  require_approval: boolean;
  no_result_store: boolean;
  emergency: boolean;
  allow_ddl: boolean;
}

const noFlags: Flags = { require_approval: false, no_result_store: false, emergency: false, allow_ddl: false };

/** Why, who else may see it, and off it goes. */
export function SubmitForm({ draft, set, preflight }: SubmitProps) {
  const [flags, setFlags] = useState(noFlags);
  const [confirmed, setConfirmed] = useState('');
  const { submit, error, isBusy, made } = useSubmit(draft, flags);
  const { database, environment, sql, reason, share } = draft;
  const { emergency } = flags;
  const pair = `${database}/${environment}`;
  const needsReason = emergency || preflight?.policy.require_reason === true;
  const isConfirmed = !emergency || confirmed === pair;
  const isReady = database !== '' && sql.trim() !== '' && isConfirmed && (!needsReason || reason.trim() !== '');
  if (made !== null) return <Made created={made} />;
  return (
    <form class="card submit" onSubmit={(event) => void submit(event)}>
      <Reason text={reason} isNeeded={needsReason} onType={(text) => set({ reason: text })} />
      <Field
        label="Share with (optional)"
        hint="Users, group:… or role:…, with commas between. They see the request and its result."
      >
        {(id, hint) => (
          <input id={id} aria-describedby={hint} value={share} onInput={(event) => set({ share: event.currentTarget.value })} />
        )}
      </Field>
      <Options flags={flags} set={setFlags} />
      {emergency && <Emergency pair={pair} typed={confirmed} onType={setConfirmed} />}
      <Problem error={error} />
      <div class="actions">
        <button type="submit" class={emergency ? 'danger' : 'primary'} disabled={!isReady || isBusy}>
          {isBusy ? 'Sending …' : emergency ? 'Run without approval' : 'Send the request'}
        </button>
      </div>
    </form>
  );
}

/** Sends the request and goes to it, unless there is something to be told first. A second press of the button makes no second request. */
function useSubmit(draft: Draft, flags: Flags) {
  const { route } = useLocation();
  const [error, setError] = useState<Error | null>(null);
  const [isBusy, setIsBusy] = useState(false);
  const [made, setMade] = useState<Schema['CreatedRequest'] | null>(null);
  const content = JSON.stringify([draft, flags]);
  const idempotency_key = useMemo(() => crypto.randomUUID(), [content]);
  const submit = async (event: Event) => {
    event.preventDefault();
    setIsBusy(true);
    setError(null);
    const { database, environment, sql, reason, share } = draft;
    try {
      const said = reason.trim() === '' ? {} : { reason };
      const body = { database, environment, detail: sql, ...said, share_with: sharedWith(share), idempotency_key, ...flags };
      const created = await answer<Schema['CreatedRequest']>(api.POST('/api/requests', { body }));
      dropDraft();
      if (created.warnings === undefined) route(`/console/requests/${created.id}`);
      else setMade(created);
    } catch (failure) {
      setError(failure as Error);
    }
    setIsBusy(false);
  };
  return { submit, error, isBusy, made };
}

function Reason({ text, isNeeded, onType }: { text: string; isNeeded: boolean; onType: (text: string) => void }) {
  return (
    <Field label={isNeeded ? 'Reason' : 'Reason (optional)'} hint="Why it is needed. Approvers read it first.">
      {(id, hint) => (
        <input
          id={id}
          aria-describedby={hint}
          maxLength={1024}
          required={isNeeded}
          value={text}
          onInput={(event) => onType(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

/** Those that the caller may set. */
function Options(shared: { flags: Flags; set: (flags: Flags) => void }) {
  return (
    <fieldset class="checks column">
      <legend class="hidden">Options</legend>
      <Flag name="require_approval" text="Ask for an approval, whatever the risk" {...shared} />
      <Flag name="no_result_store" text="Do not store the result, only hand it to who waits for it" {...shared} />
      {['request.break_glass_query', 'request.break_glass_dml'].some(may) && (
        <Flag name="emergency" text="Emergency: run it at once, without approval" {...shared} />
      )}
      {shared.flags.emergency && may('request.break_glass_ddl') && (
        <Flag name="allow_ddl" text="Allow changes of the schema that the review blocks" {...shared} />
      )}
    </fieldset>
  );
}

interface FlagProps {
  name: keyof Flags;
  text: string;
  flags: Flags;
  set: (flags: Flags) => void;
}

function Flag({ name, text, flags, set }: FlagProps) {
  return (
    <label>
      <input type="checkbox" checked={flags[name]} onChange={(event) => set({ ...flags, [name]: event.currentTarget.checked })} />
      {text}
    </label>
  );
}

function Made({ created: { id, warnings = [] } }: { created: Schema['CreatedRequest'] }) {
  return (
    <Section title="The request was made">
      <ul class="plain-list" role="status">
        {warnings.map((warning) => (
          <li key={warning}>
            <Text of={warning} />
          </li>
        ))}
      </ul>
      <p>
        <a href={`/console/requests/${id}`}>Open it</a>
      </p>
    </Section>
  );
}
