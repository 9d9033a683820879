import type { ComponentChildren } from 'preact';
import { visible } from '../../lib/visible.js';

interface TableProps {
  label: string;
  head: readonly string[];
  /** The columns that stand to the right. */
  numbers?: readonly string[];
  children: ComponentChildren;
}

/** A table that scrolls sideways where it does not fit, also by keyboard. */
export function Table({ label, head, numbers = [], children }: TableProps) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: it groups no fields
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <div class="scroll" role="group" aria-label={visible(label)} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {head.map((name) => (
              <th key={name} scope="col" class={numbers.includes(name) ? 'number' : ''}>
                {name === '' ? <span class="hidden">Actions</span> : name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
