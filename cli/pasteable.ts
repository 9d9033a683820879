/** Options of the caller without which the same command would mean something else. */
export interface Called {
  config?: string | undefined;
  database?: string | undefined;
  environment?: string | undefined;
}

/** Commands that are about a database and an environment: others would be filtered by these options, or find them in the request. */
const ofPair = new Set(['execute', 'migrate', 'preflight', 'schema', 'shell']);
/** Further commands that read the caller's files. */
const others =
  'agents|audit|console|databases|doctor|evidence get|group|login|logout|mcp|policy|request|role|token|user|webhook|whoami';
/** Not in what an administrator is to run, who has a file of their own. */
const ofCaller = new RegExp(
  `(?<!\\badministrator\\b[^;\\n]*)(?<![\\w./-])svc (?=(${[...ofPair].join('|')}|${others})(?![\\w-]))`,
  'g',
);

/** The text with its commands as the caller can paste them. */
export function pasteable(text: string, { config, database, environment }: Called): string {
  const file = option('--config', config);
  const pair = option('-d', database) + option('-e', environment);
  return text.replace(ofCaller, (_, command: string) => `svc ${file}${ofPair.has(command) ? pair : ''}`);
}

const option = (name: string, value: string | undefined) => (value === undefined ? '' : `${name} ${shellWord(value)} `);

export const shellWord = (text: string) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
