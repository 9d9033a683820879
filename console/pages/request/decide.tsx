import { useState } from 'preact/hooks';
import { openSelectors } from '../../format/status.js';
import { answer, api, type Schema } from '../../http/client.js';
import { Refused } from '../../http/refused.js';
import { Field } from '../../parts/field.js';
import { Problem } from '../../parts/problem.js';
import { Section } from '../../parts/section.js';
import { Text } from '../../parts/text.js';
import { useKept } from '../../state/kept.js';
import { may, mayAsk, mayForAll, me } from '../../state/session.js';
import { CancelDialog } from './cancel-dialog.js';

interface DecideProps {
  request: Schema['Request'];
  reload: () => void;
}

/** What the caller can do now; the server decides again. Nothing is shown as done before it has answered so (CO-21). */
export function Decide({ request, reload }: DecideProps) {
  const { related, status, id } = request;
  const isOwner = request.requester === me();
  const canDecide = related.includes('can_decide');
  const canReject = canDecide || (isOwner && status === 'pending');
  const canCancel =
    ['pending', 'approved', 'dispatched', 'running', 'execution_lost'].includes(status) && allowed('request.cancel', isOwner);
  const canResume = request.resumable && allowed('request.resume', isOwner);
  const canAsk = mayAsk() && request.operation.startsWith('execute_');
  const [asksCancel, setAsksCancel] = useState(false);
  const acting = useActing(reload);
  return (
    <Section title={canDecide ? 'Your decision' : 'Actions'}>
      {canReject && <Decision request={request} canApprove={canDecide} acting={acting} />}
      {!canReject && !canResume && !canCancel && <p class="quiet">There is nothing for you to decide here.</p>}
      <Problem error={acting.error} />
      {acting.done !== null && (
        <p class="note" role="status">
          <Text of={acting.done} />
        </p>
      )}
      <div class="actions">
        {canResume && (
          <button
            type="button"
            class={status === 'approved' ? 'primary' : ''}
            disabled={acting.isBusy}
            onClick={() => acting.run(() => resume(id))}
          >
            {status === 'approved' ? 'Resume: run it now' : 'Resume: run it again'}
          </button>
        )}
        {canCancel && !(isOwner && status === 'pending' && canReject && !canDecide) && (
          <button type="button" disabled={acting.isBusy} onClick={() => setAsksCancel(true)}>
            Cancel the request
          </button>
        )}
        {canAsk && (
          <a class="button" href={`/console/new?from=${id}`}>
            Ask again
          </a>
        )}
      </div>
      {asksCancel && <CancelDialog request={request} onClose={() => setAsksCancel(false)} onDone={reload} />}
    </Section>
  );
}

const allowed = (permission: string, isOwner: boolean) => (isOwner ? may(permission) : mayForAll(permission));

interface Acting {
  isBusy: boolean;
  error: Error | null;
  done: string | null;
  run: (action: () => Promise<string>) => void;
}

function useActing(reload: () => void): Acting {
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const [done, setDone] = useState<string | null>(null);
  const run = (action: () => Promise<string>) => {
    setIsBusy(true);
    setError(null);
    action()
      .then(setDone, setError)
      .finally(() => {
        setIsBusy(false);
        reload();
      });
  };
  return { isBusy, error, done, run };
}

async function resume(id: string): Promise<string> {
  const { status } = await answer(api.POST('/api/requests/{id}/resume', { params: { path: { id } }, body: {} }));
  return `It is ${status}.`;
}

/** An approval or a rejection of what stands on this page: the call carries the digest that the page shows (CO-32). */
function Decision({ request, canApprove, acting }: { request: Schema['Request']; canApprove: boolean; acting: Acting }) {
  const [comment, setComment] = useKept(`comment ${request.id}`);
  const [selector, setSelector] = useState('');
  const isAmbiguous = acting.error instanceof Refused && acting.error.reason === 'selector_ambiguous';
  const said = { comment: comment.trim() === '' ? null : comment, expected_digest: request.approval_digest };
  const path = { params: { path: { id: request.id } } };
  const approve = async () => {
    const body = selector === '' ? said : { ...said, selector };
    const { current_step, total_steps } = await answer(api.POST('/api/requests/{id}/approve', { ...path, body }));
    setComment('');
    return current_step === total_steps
      ? 'Approved. Its requester can let it run.'
      : `Approved: ${current_step} of ${total_steps} steps are done.`;
  };
  const reject = async () => {
    await answer(api.POST('/api/requests/{id}/reject', { ...path, body: said }));
    setComment('');
    return 'Rejected.';
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        acting.run(canApprove ? approve : reject);
      }}
    >
      {(isAmbiguous || selector !== '') && (
        <Field label="Approve as" hint="You match several. Your approval counts for one of them.">
          {(id, hint) => (
            <select
              id={id}
              aria-describedby={hint}
              required
              value={selector}
              onChange={(event) => setSelector(event.currentTarget.value)}
            >
              <option value="">choose</option>
              {openSelectors(request.approval_progress).map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          )}
        </Field>
      )}
      <Field label="Comment">
        {(id) => (
          <textarea
            id={id}
            rows={2}
            maxLength={1024}
            placeholder="optional; everybody who may see the request reads it"
            value={comment}
            onInput={(event) => setComment(event.currentTarget.value)}
          />
        )}
      </Field>
      <div class="actions">
        {canApprove && (
          <button type="submit" class="primary" disabled={acting.isBusy}>
            Approve
          </button>
        )}
        <button type="button" class="danger" disabled={acting.isBusy} onClick={() => acting.run(reject)}>
          Reject
        </button>
      </div>
    </form>
  );
}
