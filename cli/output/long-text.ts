import { standardPager } from '../pager.js';
import type { Terminal } from '../terminal.js';
import { displayWidth } from './width.js';

/** The program that shows a long text: a shell's command line, or null where there is none (CL-37). */
export function pagerOf(text: string, { stdout, environment }: Terminal): string | null {
  if (stdout.isTTY !== true || environment.SVC_NO_PAGER || environment.TERM === 'dumb') return null;
  const pager = (environment.PAGER ?? standardPager).trim();
  return pager === '' || pager === 'cat' || fits(text, stdout.rows || 24, stdout.columns || 80) ? null : pager;
}

/** Whether the text and a prompt below it fit on the screen. */
function fits(text: string, rows: number, columns: number): boolean {
  let used = 0;
  for (const line of text.split('\n')) {
    used += Math.max(1, Math.ceil(displayWidth(line.replace(colour, '')) / columns));
    if (used > rows) return false;
  }
  return true;
}

const colour = /\u001b\[\d+m/g;
