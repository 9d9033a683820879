import { anyText, each, isObject, type Loose, lengthOf, onlyKeys, optionalText, plainText, type Report } from './checks.js';

/** What Slack refuses in blocks and modals: its published limits, and forms that its Block Kit does not have. */

/** What Slack would say of the blocks of a message; empty if it takes them. */
export function problemsOfBlocks(blocks: unknown): string[] {
  return collect((report) => {
    checkBlocks(blocks, 50, messageBlocks, report);
    // Not published; seen by users of the API.
    if (JSON.stringify(blocks)?.length > 13_000) report('/blocks', 'msg_blocks_too_long');
  });
}

/** The same of a view that is opened, updated, or answered to a submission. */
export function problemsOfView(view: unknown): string[] {
  return collect((report) => {
    if (!isObject(view)) return void report('/view', 'must be an object');
    onlyKeys(view, viewKeys, '/view', report);
    if (view.type !== 'modal') report('/view/type', 'must be modal');
    plainText(view.title, 24, '/view/title', report);
    for (const key of ['submit', 'close']) if (view[key] !== undefined) plainText(view[key], 24, `/view/${key}`, report);
    optionalText(view.callback_id, 255, '/view/callback_id', report);
    optionalText(view.private_metadata, 3000, '/view/private_metadata', report, 0);
    checkBlocks(view.blocks, 100, modalBlocks, report);
    const hasInput = Array.isArray(view.blocks) && view.blocks.some((block) => isObject(block) && block.type === 'input');
    if (hasInput && view.submit === undefined) report('/view/submit', 'is required with input blocks');
    if (JSON.stringify(view).length > 250_000) report('/view', 'view_too_large');
  });
}

const viewKeys = [
  'type',
  'title',
  'blocks',
  'submit',
  'close',
  'callback_id',
  'private_metadata',
  'external_id',
  'clear_on_close',
  'notify_on_close',
];

function collect(check: (report: Report) => void): string[] {
  const problems: string[] = [];
  check((path, problem) => void problems.push(`${problem} [json-pointer:${path}]`));
  return problems;
}

type Check = (value: Loose, path: string, report: Report) => void;

const section: Check = (block, path, report) => {
  onlyKeys(block, ['type', 'block_id', 'text', 'fields', 'accessory', 'expand'], path, report);
  if (block.text === undefined && block.fields === undefined) report(path, 'must have text or fields');
  if (block.text !== undefined) anyText(block.text, 3000, `${path}/text`, report);
  if (block.fields !== undefined)
    each(block.fields, 10, `${path}/fields`, report, (field, at) => anyText(field, 2000, at, report));
  if (block.accessory !== undefined) checkElement(block.accessory, actionElements, `${path}/accessory`, report);
};

const shownBlocks: Record<string, Check> = {
  divider: (block, path, report) => onlyKeys(block, ['type', 'block_id'], path, report),
  header: (block, path, report) => {
    onlyKeys(block, ['type', 'block_id', 'text'], path, report);
    plainText(block.text, 150, `${path}/text`, report);
  },
  section,
  context: (block, path, report) => {
    onlyKeys(block, ['type', 'block_id', 'elements'], path, report);
    each(block.elements, 10, `${path}/elements`, report, (element, at) => anyText(element, 3000, at, report));
  },
  actions: (block, path, report) => {
    onlyKeys(block, ['type', 'block_id', 'elements'], path, report);
    each(block.elements, 25, `${path}/elements`, report, (element, at) => checkElement(element, actionElements, at, report));
    const ids = Array.isArray(block.elements) ? block.elements.map((element) => (element as Loose).action_id) : [];
    if (new Set(ids).size < ids.length) report(path, 'action_id is used twice');
  },
};

/** Only preformatted text, for which Slack publishes no limit. */
const richText: Check = (block, path, report) => {
  onlyKeys(block, ['type', 'block_id', 'elements'], path, report);
  each(block.elements, 50, `${path}/elements`, report, (part, at) => {
    if (!isObject(part) || part.type !== 'rich_text_preformatted') return void report(at, 'must be rich_text_preformatted');
    onlyKeys(part, ['type', 'elements', 'border', 'language'], at, report);
    each(part.elements, 50, `${at}/elements`, report, (text, place) => {
      if (!isObject(text) || text.type !== 'text') return void report(place, 'must be a text');
      onlyKeys(text, ['type', 'text', 'style'], place, report);
      lengthOf(text.text, 1, 100_000, `${place}/text`, report);
    });
  });
};

const messageBlocks = { ...shownBlocks, rich_text: richText };
const modalBlocks: Record<string, Check> = {
  ...messageBlocks,
  input: (block, path, report) => {
    onlyKeys(block, ['type', 'block_id', 'label', 'element', 'optional', 'hint', 'dispatch_action'], path, report);
    plainText(block.label, 2000, `${path}/label`, report);
    if (block.hint !== undefined) plainText(block.hint, 2000, `${path}/hint`, report);
    checkElement(block.element, inputElements, `${path}/element`, report);
  },
};

function checkBlocks(blocks: unknown, most: number, kinds: Record<string, Check>, report: Report): void {
  const ids = new Set<unknown>();
  each(blocks, most, '/blocks', report, (block, path) => {
    if (!isObject(block)) return void report(path, 'must be an object');
    optionalText(block.block_id, 255, `${path}/block_id`, report);
    if (block.block_id !== undefined && ids.has(block.block_id)) report(`${path}/block_id`, 'is used twice');
    ids.add(block.block_id);
    const check = kinds[String(block.type)];
    if (check === undefined) report(`${path}/type`, `unsupported type: ${String(block.type)}`);
    else check(block, path, report);
  });
}

const select =
  (kind: 'one' | 'many', most: number, keys: readonly string[]): Check =>
  (element, path, report) => {
    const initial = kind === 'one' ? 'initial_option' : 'initial_options';
    onlyKeys(element, ['type', 'action_id', 'options', initial, 'focus_on_load', 'confirm', ...keys], path, report);
    each(element.options, most, `${path}/options`, report, (option, at) => checkOption(option, at, report));
    const offered = new Set((Array.isArray(element.options) ? element.options : []).map((option) => JSON.stringify(option)));
    const chosen = element[initial] === undefined ? [] : kind === 'one' ? [element[initial]] : element[initial];
    if (!Array.isArray(chosen) || (kind === 'many' && element[initial] !== undefined && chosen.length === 0))
      report(`${path}/${initial}`, 'must have an item');
    else if (chosen.some((option) => !offered.has(JSON.stringify(option))))
      report(`${path}/${initial}`, 'is not among the options');
    if (element.placeholder !== undefined) plainText(element.placeholder, 150, `${path}/placeholder`, report);
  };

const staticSelect = select('one', 100, ['placeholder']);
const multiSelect = select('many', 100, ['placeholder', 'max_selected_items']);

const actionElements: Record<string, Check> = {
  button: (element, path, report) => {
    onlyKeys(element, ['type', 'action_id', 'text', 'value', 'style', 'url', 'confirm', 'accessibility_label'], path, report);
    plainText(element.text, 75, `${path}/text`, report);
    optionalText(element.value, 2000, `${path}/value`, report);
    if (![undefined, 'primary', 'danger'].includes(element.style as undefined))
      report(`${path}/style`, 'must be primary or danger');
  },
  static_select: staticSelect,
  multi_static_select: multiSelect,
  radio_buttons: select('one', 10, []),
};

const inputElements: Record<string, Check> = {
  static_select: staticSelect,
  multi_static_select: multiSelect,
  radio_buttons: select('one', 10, []),
  plain_text_input: (element, path, report) => {
    const keys = ['type', 'action_id', 'multiline', 'max_length', 'min_length', 'initial_value', 'placeholder', 'focus_on_load'];
    onlyKeys(element, keys, path, report);
    const most = element.max_length ?? 3000;
    if (!Number.isInteger(most) || Number(most) < 1 || Number(most) > 3000) report(`${path}/max_length`, 'must be 1 to 3000');
    optionalText(element.initial_value, Number(most), `${path}/initial_value`, report, 0);
    if (element.placeholder !== undefined) plainText(element.placeholder, 150, `${path}/placeholder`, report);
  },
};

function checkElement(element: unknown, kinds: Record<string, Check>, path: string, report: Report): void {
  if (!isObject(element)) return void report(path, 'must be an object');
  optionalText(element.action_id, 255, `${path}/action_id`, report);
  const check = kinds[String(element.type)];
  if (check === undefined) report(`${path}/type`, `unsupported type: ${String(element.type)}`);
  else check(element, path, report);
}

function checkOption(option: unknown, path: string, report: Report): void {
  if (!isObject(option)) return void report(path, 'must be an object');
  onlyKeys(option, ['text', 'value', 'description', 'url'], path, report);
  plainText(option.text, 75, `${path}/text`, report);
  // Slack's page of the option says 150, its types 75.
  if (option.value === undefined) report(`${path}/value`, 'is missing');
  optionalText(option.value, 150, `${path}/value`, report);
  if (option.description !== undefined) plainText(option.description, 75, `${path}/description`, report);
}
