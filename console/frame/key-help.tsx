import { Dialog } from '../parts/dialog.js';
import { hasKeys } from '../state/appearance.js';
import { mayAsk } from '../state/session.js';

const keys = [
  ['j', 'next in the list'],
  ['k', 'previous in the list'],
  ['Enter', 'open it'],
  ['/', 'to the filters'],
  ['c', 'new request'],
  ['?', 'this help'],
] as const;

export function KeyHelp({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="facts">
        {keys
          .filter(([key]) => key !== 'c' || mayAsk())
          .map(([key, what]) => (
            <div key={key}>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{what}</dd>
            </div>
          ))}
      </dl>
      <label class="check">
        <input
          type="checkbox"
          checked={hasKeys.value}
          onChange={(event) => {
            hasKeys.value = event.currentTarget.checked;
          }}
        />
        Single letters are keys
      </label>
      <form method="dialog" class="actions">
        <button type="submit">Close</button>
      </form>
    </Dialog>
  );
}
