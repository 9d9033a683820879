import type { Style } from './style.js';

export type Section = readonly [title: string, lines: readonly string[]];

/** A page of titled sections, those without lines left out. */
export const renderSections = (sections: readonly Section[], style: Style): string =>
  sections
    .filter(([, lines]) => lines.length > 0)
    .map(([title, lines]) => `${style.bold(title)}\n${lines.map((line) => `${`  ${line}`.trimEnd()}\n`).join('')}`)
    .join('\n');
