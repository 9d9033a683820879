import { me, replaced } from '../state/session.js';

/** Warns somebody whom a link, or another tab, has signed in as another user. */
export function Replaced() {
  const before = replaced.value;
  const close = () => {
    replaced.value = null;
  };
  return (
    <div class="banner" role="status">
      {before !== null && (
        <p>
          You are now signed in as <strong>{me()}</strong>, by a link or in another tab. Before, you were {before}.{' '}
          <button type="button" class="small" onClick={close}>
            Understood
          </button>
        </p>
      )}
    </div>
  );
}
