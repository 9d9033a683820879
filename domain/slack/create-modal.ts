import type { Pair } from '../caller.js';
import { type Modal, plain } from './blocks.js';
import { factsBlock, menu, mostOptions, note, noteLength, option, textInput } from './modals.js';

/** The longest SQL that an input of Slack takes. */
const longestSql = 3000;

const nameOf = ({ database, environment }: Pair) => `${database}/${environment}`;

/** SL-33: asks for SQL on one of the pairs, of which there is at least one. */
export function createModal(pairs: readonly Pair[]): Modal {
  const names = pairs.map(nameOf).sort();
  const offered = names.slice(0, mostOptions);
  const more = names.length - offered.length;
  return {
    type: 'modal',
    callback_id: 'svc_create_modal',
    title: plain('New request'),
    submit: plain('Create'),
    close: plain('Cancel'),
    blocks: [
      menu(
        'db_env',
        'Database and environment',
        offered.map((name) => option(name, name)),
      ),
      ...(more === 0 ? [] : [note(`These are the first ${offered.length}. For ${more} more use svc execute.`)]),
      textInput('sql', 'SQL', { optional: false, maxLength: longestSql }),
      textInput('reason', 'Reason', { optional: true, maxLength: noteLength }),
    ],
  };
}

/** In place of the form, where the creation warns of something (RQ-38). */
export const madeModal = (id: string, warnings: readonly string[]): Modal => ({
  type: 'modal',
  title: plain('Request made'),
  close: plain('Close'),
  blocks: [factsBlock({ 'Request ID': id }), ...warnings.map((warning) => note(`Warning: ${warning}.`))],
});

/** The pair that an option of the menu stands for; null for anything else. */
export function pairOf(value: string | null): Pair | null {
  const [database, environment, ...rest] = value?.split('/') ?? [];
  return database === undefined || environment === undefined || rest.length > 0 ? null : { database, environment };
}
