import { useState } from 'preact/hooks';
import { isOpen } from '../../format/status.js';
import { answer, api, type Schema } from '../../http/client.js';
import { Problem } from '../../parts/problem.js';
import { Section } from '../../parts/section.js';
import { Text } from '../../parts/text.js';
import { may, mayAsk, mayForAll, me } from '../../state/session.js';
import { type Acting, useActing } from './acting.js';
import { CancelDialog } from './cancel-dialog.js';
import { Decision } from './decision.js';

interface DecideProps {
  request: Schema['Request'];
  reload: () => void;
}

/** What the caller can do now; the server decides again. Nothing is shown as done before it has answered so (CO-21). */
export function Decide({ request, reload }: DecideProps) {
  const [asksCancel, setAsksCancel] = useState(false);
  const acting = useActing(`${request.id} ${request.status} ${request.updated_at}`, reload);
  const offered = offeredFor(request);
  const { approve, reject, resume, cancel } = offered;
  return (
    <Section title={approve ? 'Your decision' : 'Actions'}>
      {reject && <Decision request={request} canApprove={approve} acting={acting} />}
      {!reject && !resume && !cancel && <p class="quiet">There is nothing for you to decide here.</p>}
      <Problem error={acting.error} />
      {acting.done !== null && (
        <p class="note" role="status">
          <Text of={acting.done} />
        </p>
      )}
      <Moves request={request} offered={offered} acting={acting} onCancel={() => setAsksCancel(true)} />
      {asksCancel && <CancelDialog request={request} onClose={() => setAsksCancel(false)} onDone={reload} />}
    </Section>
  );
}

type Offered = ReturnType<typeof offeredFor>;

function offeredFor({ related, status, operation, requester, resumable }: Schema['Request']) {
  const isOwner = requester === me();
  const allowed = (permission: string) => (isOwner ? may(permission) : mayForAll(permission));
  const approve = related.includes('can_decide');
  const withdraws = isOwner && status === 'pending';
  return {
    approve,
    reject: approve || withdraws,
    resume: resumable && allowed('request.resume'),
    cancel: isOpen(status) && allowed('request.cancel'),
    /** Whether the rejection by its requester stands for the cancel. */
    rejectsInstead: withdraws && !approve,
    askAgain: mayAsk() && operation.startsWith('execute_'),
  };
}

interface MovesProps {
  request: Schema['Request'];
  offered: Offered;
  acting: Acting;
  onCancel: () => void;
}

/** The actions other than approve and reject. */
function Moves({ request: { id, status, fence }, offered, acting, onCancel }: MovesProps) {
  const isFirst = status === 'approved';
  return (
    <div class="actions">
      {offered.resume && (
        <button
          type="button"
          class={isFirst ? 'primary' : ''}
          disabled={acting.isBusy}
          onClick={() => acting.run(() => resume(id, fence))}
        >
          {isFirst ? 'Resume: run it now' : 'Resume: run it again'}
        </button>
      )}
      {offered.cancel && !offered.rejectsInstead && (
        <button type="button" disabled={acting.isBusy} onClick={onCancel}>
          Cancel the request
        </button>
      )}
      {offered.askAgain && (
        <a class="button" href={`/console/new?from=${id}`}>
          Ask again
        </a>
      )}
    </div>
  );
}

async function resume(id: string, expected_fence: number): Promise<string> {
  await answer(api.POST('/api/requests/{id}/resume', { params: { path: { id } }, body: { expected_fence } }));
  return 'Resumed.';
}
