import { Dialog } from '../parts/dialog.js';

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
        {keys.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog" class="actions">
        <button type="submit">Close</button>
      </form>
    </Dialog>
  );
}
