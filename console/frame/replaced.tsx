import { me, replaced } from '../state/session.js';

/** Warns somebody whom a link has signed in as another user. */
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
