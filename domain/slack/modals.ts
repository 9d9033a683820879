import { type InputBlock, type Modal, type ModalBlock, markup, type Option, plain, preformatted, section } from './blocks.js';
import { codeSpan, plainLine } from './text.js';

/** Shown until a modal is filled. */
export const loadingModal = (title: string): Modal => ({
  type: 'modal',
  title: plain(title),
  close: plain('Close'),
  blocks: [section('Loading…')],
});

/** In place of a modal that cannot go on. */
export const errorModal = (text: string): Modal => ({
  type: 'modal',
  title: plain('Error'),
  close: plain('Close'),
  blocks: [section(plainLine(text, 500))],
});

/** A request in a few lines. Names and ids are short, so that none fills the modal. */
export const factsBlock = (facts: Readonly<Record<string, string>>): ModalBlock => ({
  type: 'section',
  fields: Object.entries(facts).map(([name, value]) => markup(`*${name}*\n${codeSpan(value, 300)}`)),
});

/** Text as it is, under a title. */
export const titledText = (title: string, text: string): ModalBlock[] => [section(`*${title}*`), preformatted(text)];

export const note = (text: string): ModalBlock => ({ type: 'context', elements: [markup(plainLine(text, 500))] });

/** Texts of options are cut, their values are not. */
export const option = (text: string, value: string): Option => {
  const characters = Array.from(text);
  // Slack counts a character outside of the first plane as two.
  return { text: plain(text.length <= 75 ? text : `${characters.slice(0, 37).join('')}…`), value };
};

export const textInput = (
  name: string,
  label: string,
  { optional, maxLength }: { optional: boolean; maxLength: number },
): InputBlock => ({
  type: 'input',
  block_id: `${name}_block`,
  label: plain(label),
  element: { type: 'plain_text_input', action_id: `${name}_input`, multiline: true, max_length: maxLength },
  optional,
});

export const menu = (name: string, label: string, options: Option[]): InputBlock => ({
  type: 'input',
  block_id: `${name}_block`,
  label: plain(label),
  element: { type: 'static_select', action_id: `${name}_input`, options },
});

/** No choice is preselected (SL-31). */
export const decisionInput: InputBlock = {
  type: 'input',
  block_id: 'decision_block',
  label: plain('Decision'),
  element: {
    type: 'radio_buttons',
    action_id: 'decision_input',
    options: [option('Approve', 'approve'), option('Reject', 'reject')],
  },
};

/** As many options as a menu takes. */
export const mostOptions = 100;
/** The longest value that an option takes. */
export const longestValue = 150;
/** A note of 1024 bytes is refused only if it has many characters of several bytes. */
export const noteLength = 1000;
