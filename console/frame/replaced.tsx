import { me, replaced } from '../state/session.js';

/** Who opens a link that somebody sent must not work as that person without knowing. */
export function Replaced() {
  const before = replaced.value;
  const close = () => {
    replaced.value = null;
  };
  return (
    <div class="banner" role="status">
      {before !== null && (
        <p>
          This link has signed you in as <strong>{me()}</strong>. Before, you were {before}.{' '}
          <button type="button" class="small" onClick={close}>
            Understood
          </button>
        </p>
      )}
    </div>
  );
}
