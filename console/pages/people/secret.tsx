import { Copy } from '../../parts/copy.js';
import { Dialog } from '../../parts/dialog.js';
import { Name } from '../../parts/text.js';

/** A token is shown once: the gateway keeps only its hash. */
export function Secret({ token, of, onClose }: { token: string; of: string; onClose: () => void }) {
  return (
    <Dialog title={of} onClose={onClose}>
      <p>Keep it now; it is never shown again.</p>
      <p class="whole-value">
        <Name of={token} />
      </p>
      <div class="actions">
        <Copy text={token} what="the token" />
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
