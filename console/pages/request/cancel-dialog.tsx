import { useState } from 'preact/hooks';
import { answer, api, type Schema } from '../../http/client.js';
import { Dialog } from '../../parts/dialog.js';
import { Field } from '../../parts/field.js';
import { Problem } from '../../parts/problem.js';
import { useKept } from '../../state/kept.js';

interface CancelProps {
  request: Schema['Request'];
  onClose: () => void;
  onDone: () => void;
}

/** A running statement can be too late to stop, so the dialog stays until it is known whether it was. */
export function CancelDialog({ request: { id, status }, onClose, onDone }: CancelProps) {
  const [reason, setReason] = useKept(`cancel ${id}`);
  const { cancel, isBusy, error, asked } = useCancel(id, { onClose, onDone });
  return (
    <Dialog title="Cancel this request?" onClose={onClose}>
      <form onSubmit={(event) => void cancel(event, reason.trim() === '' ? null : reason)}>
        {status === 'running' && <p>It runs. Its agent is asked to stop it; the database decides whether that comes in time.</p>}
        {asked && (
          <p class="note" role="status">
            The cancel was asked for and is not confirmed yet. The page tells you what came of it.
          </p>
        )}
        <Field label="Reason">
          {(fieldId) => (
            <input
              id={fieldId}
              maxLength={1024}
              placeholder="optional"
              value={reason}
              onInput={(event) => setReason(event.currentTarget.value)}
            />
          )}
        </Field>
        <Problem error={error} />
        <div class="actions">
          <button type="submit" class="danger" disabled={isBusy || asked}>
            {isBusy ? 'Cancelling …' : 'Cancel the request'}
          </button>
          <button type="button" onClick={onClose}>
            {asked ? 'Close' : 'Keep it'}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** `asked` is true while nobody knows yet whether it came in time. */
function useCancel(id: string, { onClose, onDone }: Pick<CancelProps, 'onClose' | 'onDone'>) {
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const [asked, setAsked] = useState(false);
  const cancel = async (event: Event, reason: string | null) => {
    event.preventDefault();
    setIsBusy(true);
    setError(null);
    try {
      const moved = await answer(api.POST('/api/requests/{id}/cancel', { params: { path: { id } }, body: { reason } }));
      if (moved.status === 'cancelled') onClose();
      else setAsked(true);
    } catch (failure) {
      setError(failure as Error);
    }
    setIsBusy(false);
    onDone();
  };
  return { cancel, isBusy, error, asked };
}
