import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { answer, api, type Schema } from '../../http/client.js';
import { Field } from '../../parts/field.js';
import { Problem } from '../../parts/problem.js';
import { Section } from '../../parts/section.js';
import { Text } from '../../parts/text.js';
import { may } from '../../state/session.js';
import { type Draft, dropDraft, keyToSend, sharedWith } from './draft.js';
import { Emergency } from './emergency.js';

interface SubmitProps {
  draft: Draft;
  set: (change: Partial<Draft>) => void;
  preflight: Schema['Preflight'] | null;
}

/** Not part of the draft: whoever comes back to it says again that it is an emergency. */
interface Urgency {
  emergency: boolean;
  allow_ddl: boolean;
}

/** Why, who else may see it, and off it goes. */
export function SubmitForm({ draft, set, preflight }: SubmitProps) {
  const [urgency, setUrgency] = useState<Urgency>({ emergency: false, allow_ddl: false });
  const [confirmed, setConfirmed] = useState('');
  const { submit, error, isBusy, made } = useSubmit(draft, urgency);
  const { database, environment, sql, reason, share } = draft;
  const { emergency } = urgency;
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
      <Options draft={draft} set={set} urgency={urgency} setUrgency={setUrgency} />
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

/** Sends the request and goes to it, unless there is something to be told first. What is sent again unchanged makes no second request. */
function useSubmit(draft: Draft, urgency: Urgency) {
  const { route } = useLocation();
  const [error, setError] = useState<Error | null>(null);
  const [isBusy, setIsBusy] = useState(false);
  const [made, setMade] = useState<Schema['CreatedRequest'] | null>(null);
  const submit = async (event: Event) => {
    event.preventDefault();
    setIsBusy(true);
    setError(null);
    const { from: _, sql, reason, share, ...asDrafted } = draft;
    try {
      const said = reason.trim() === '' ? {} : { reason };
      const asked = { ...asDrafted, detail: sql, ...said, share_with: sharedWith(share), ...urgency };
      const body = { ...asked, idempotency_key: keyToSend(JSON.stringify(asked)) };
      const created = await answer<Schema['CreatedRequest']>(api.POST('/api/requests', { body }));
      dropDraft(draft);
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

interface OptionsProps extends Pick<SubmitProps, 'draft' | 'set'> {
  urgency: Urgency;
  setUrgency: (urgency: Urgency) => void;
}

/** Those that the caller may set. */
function Options({ draft, set, urgency, setUrgency }: OptionsProps) {
  return (
    <fieldset class="checks column">
      <legend class="hidden">Options</legend>
      <Flag
        text="Ask for an approval, whatever the risk"
        isOn={draft.require_approval}
        onSet={(isOn) => set({ require_approval: isOn })}
      />
      <Flag
        text="Do not store the result, only hand it to who waits for it"
        isOn={draft.no_result_store}
        onSet={(isOn) => set({ no_result_store: isOn })}
      />
      {['request.break_glass_query', 'request.break_glass_dml'].some(may) && (
        <Flag
          text="Emergency: run it at once, without approval"
          isOn={urgency.emergency}
          onSet={(isOn) => setUrgency({ ...urgency, emergency: isOn })}
        />
      )}
      {urgency.emergency && may('request.break_glass_ddl') && (
        <Flag
          text="Allow changes of the schema that the review blocks"
          isOn={urgency.allow_ddl}
          onSet={(isOn) => setUrgency({ ...urgency, allow_ddl: isOn })}
        />
      )}
    </fieldset>
  );
}

function Flag({ text, isOn, onSet }: { text: string; isOn: boolean; onSet: (isOn: boolean) => void }) {
  return (
    <label>
      <input type="checkbox" checked={isOn} onChange={(event) => onSet(event.currentTarget.checked)} />
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
