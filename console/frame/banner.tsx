import { isAway } from '../http/reach.js';

/** Warns that the server is unreachable and the page may be stale. */
export function Banner() {
  return (
    <div class="banner" role="status">
      {isAway.value && <p>The gateway does not answer. What you see may be old; this page goes on by itself.</p>}
    </div>
  );
}
