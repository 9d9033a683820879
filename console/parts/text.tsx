import { visible } from '../../lib/visible.js';

/** A text from outside, on one line: what is hidden in it, or would reorder it, is made visible (CO-3). */
export function Text({ of }: { of: string | null | undefined }) {
  return <bdi>{visible(of ?? '')}</bdi>;
}

/** A name, in the font of code. */
export function Name({ of }: { of: string | null | undefined }) {
  return (
    <code class="name">
      <bdi>{visible(of ?? '')}</bdi>
    </code>
  );
}

/** A text of several lines, as it was written. */
export function Lines({ of }: { of: string }) {
  return (
    <p class="lines">
      {of
        .split(/\r\n?|\n/)
        .map(visible)
        .join('\n')}
    </p>
  );
}
