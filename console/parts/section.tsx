import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { visible } from '../../lib/visible.js';

interface SectionProps {
  title: string;
  /** How many there are, or other short news beside the title. */
  note?: ComponentChildren;
  children: ComponentChildren;
}

export function Section({ title, note, children }: SectionProps) {
  const id = useId();
  return (
    <section class="card" aria-labelledby={id}>
      <header>
        <h2 id={id}>{visible(title)}</h2>
        {note !== undefined && <span class="quiet">{note}</span>}
      </header>
      {children}
    </section>
  );
}

/** Names and what they have, side by side; what is empty is left out. */
export function Facts({ of }: { of: readonly (readonly [string, ComponentChildren])[] }) {
  const shown = of.filter(([, value]) => value !== null && value !== undefined && value !== '' && value !== false);
  return (
    <dl class="facts">
      {shown.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}
