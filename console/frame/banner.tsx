import { isAway } from '../http/reach.js';

/** Says that the server is away, so that nobody takes what is shown for what is. */
export function Banner() {
  return (
    <div class="banner" role="status">
      {isAway.value && <p>The gateway does not answer. What you see may be old; this page goes on by itself.</p>}
    </div>
  );
}
