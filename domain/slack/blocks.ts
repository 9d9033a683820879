/** The parts of Slack's Block Kit that the gateway sends. Tests hold them to Slack's published types and limits. */

/** Not parsed for addresses, channels and names: only what the gateway marks up is markup. */
export interface Markup {
  type: 'mrkdwn';
  text: string;
  verbatim: true;
}

interface PlainText {
  type: 'plain_text';
  text: string;
  emoji: true;
}

export interface Option {
  text: PlainText;
  value: string;
}

export interface Button {
  type: 'button';
  action_id: string;
  text: PlainText;
  value: string;
  style?: 'primary' | 'danger';
}

type Input =
  | { type: 'plain_text_input'; action_id: string; multiline?: boolean; max_length?: number }
  | { type: 'radio_buttons'; action_id: string; options: Option[] }
  | { type: 'static_select'; action_id: string; options: Option[] }
  | { type: 'multi_static_select'; action_id: string; options: Option[]; initial_options?: Option[] };

/** What messages and modals share. */
export type ShownBlock =
  | { type: 'header'; text: PlainText }
  | { type: 'section'; fields: Markup[] }
  | { type: 'section'; text: Markup }
  | { type: 'context'; elements: Markup[] };

export type MessageBlock = ShownBlock | { type: 'actions'; elements: Button[] };

export interface InputBlock {
  type: 'input';
  block_id: string;
  label: PlainText;
  element: Input;
  optional?: boolean;
  hint?: PlainText;
}

/** Text as it is. Slack reads no markup in it, so nothing in it is escaped or replaced. */
interface Preformatted {
  type: 'rich_text';
  elements: { type: 'rich_text_preformatted'; elements: { type: 'text'; text: string }[] }[];
}

export type ModalBlock = ShownBlock | InputBlock | Preformatted;

/** `text` is what notifications and screen readers say. */
export interface SlackMessage<B = MessageBlock> {
  text: string;
  blocks: B[];
}

export interface Modal {
  type: 'modal';
  title: PlainText;
  blocks: ModalBlock[];
  callback_id?: string;
  private_metadata?: string;
  submit?: PlainText;
  close?: PlainText;
}

export const markup = (text: string): Markup => ({ type: 'mrkdwn', text, verbatim: true });

export const section = (text: string): ShownBlock => ({ type: 'section', text: markup(text) });

/** Slack refuses an empty text. Of long ones it publishes no limit: none here is longer than the texts of other blocks may be. */
export function preformatted(text: string): Preformatted {
  const whole = text === '' ? ' ' : text;
  const parts = whole.length <= 3000 ? [whole] : (whole.match(/.{1,1500}/gsu) ?? []);
  const elements = parts.map((part) => ({ type: 'text' as const, text: part }));
  return { type: 'rich_text', elements: [{ type: 'rich_text_preformatted', elements }] };
}

export const plain = (text: string): PlainText => ({ type: 'plain_text', text, emoji: true });
