import { useState } from 'preact/hooks';
import { openSelectors } from '../../format/status.js';
import { answer, api, type Schema } from '../../http/client.js';
import { Refused } from '../../http/refused.js';
import { Field } from '../../parts/field.js';
import { useKept } from '../../state/kept.js';
import { isRepeated } from '../../state/sending.js';
import type { Acting } from './acting.js';

interface DecisionProps {
  request: Schema['Request'];
  canApprove: boolean;
  acting: Acting;
}

/** An approval or a rejection of what stands on this page: the call carries the digest that the page shows (CO-32). */
export function Decision({ request, canApprove, acting }: DecisionProps) {
  const [comment, setComment] = useKept(`comment ${request.id}`);
  const [selector, setSelector] = useState('');
  const isAmbiguous = acting.error instanceof Refused && acting.error.reason === 'selector_ambiguous';
  const said = { comment: comment.trim() === '' ? null : comment, expected_digest: request.approval_digest };
  const decide = async (action: () => Promise<string>) => {
    const told = await action();
    setComment('');
    return told;
  };
  const step = { expected_step: request.approval_progress?.current_step ?? null };
  const approving = () => decide(() => approve(request.id, { ...said, ...step, ...(selector === '' ? {} : { selector }) }));
  const rejecting = () => decide(() => reject(request.id, said));
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        acting.run(canApprove ? approving : rejecting);
      }}
    >
      {(isAmbiguous || selector !== '') && (
        <Selector of={openSelectors(request.approval_progress)} chosen={selector} onChoose={setSelector} />
      )}
      <Comment text={comment} onType={setComment} />
      <div class="actions">
        {canApprove && (
          <button type="submit" class="primary" disabled={acting.isBusy} onClick={onceOnly}>
            Approve
          </button>
        )}
        <button type="button" class="danger" disabled={acting.isBusy} onClick={() => acting.run(rejecting)}>
          Reject
        </button>
      </div>
    </form>
  );
}

/** The second click of a double click would approve the next step, which has just come into sight. */
const onceOnly = (event: MouseEvent) => {
  if (isRepeated(event)) event.preventDefault();
};

interface Said {
  comment: string | null;
  expected_digest: string;
}

async function approve(id: string, body: Said & { expected_step: number | null; selector?: string }): Promise<string> {
  const path = { params: { path: { id } } };
  const { current_step, total_steps } = await answer(api.POST('/api/requests/{id}/approve', { ...path, body }));
  return current_step === total_steps
    ? 'Approved. Its requester can let it run.'
    : `Approved: ${current_step} of ${total_steps} steps are done.`;
}

async function reject(id: string, body: Said): Promise<string> {
  await answer(api.POST('/api/requests/{id}/reject', { params: { path: { id } }, body }));
  return 'Rejected.';
}

function Selector({ of, chosen, onChoose }: { of: readonly string[]; chosen: string; onChoose: (selector: string) => void }) {
  return (
    <Field label="Approve as" hint="You match several. Your approval counts for one of them.">
      {(id, hint) => (
        <select id={id} aria-describedby={hint} required value={chosen} onChange={(event) => onChoose(event.currentTarget.value)}>
          <option value="">choose</option>
          {of.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      )}
    </Field>
  );
}

function Comment({ text, onType }: { text: string; onType: (text: string) => void }) {
  return (
    <Field label="Comment">
      {(id) => (
        <textarea
          id={id}
          rows={2}
          maxLength={1024}
          placeholder="optional; everybody who may see the request reads it"
          value={text}
          onInput={(event) => onType(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}
