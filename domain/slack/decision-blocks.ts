import type { ModalBlock } from './blocks.js';
import { decisionInput, longestValue, menu, mostOptions, noteLength, option, textInput } from './modals.js';

/** What an approver fills in; `selectors` are those that their approval could count for. */
export function decisionBlocks(selectors: readonly string[]): ModalBlock[] {
  const fitting = selectors.filter((selector) => selector.length <= longestValue).slice(0, mostOptions);
  return [
    decisionInput,
    ...(selectors.length < 2 || fitting.length === 0
      ? []
      : [
          {
            ...menu(
              'selector',
              'Approve as',
              fitting.map((selector) => option(selector, selector)),
            ),
            optional: true,
          },
        ]),
    textInput('comment', 'Comment', { optional: true, maxLength: noteLength }),
  ];
}
