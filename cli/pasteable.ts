/** Commands that read the caller's files. */
const reading =
  'agents|audit|console|databases|doctor|evidence get|execute|group|login|logout|mcp|migrate|policy|preflight|request|role|schema|shell|token|user|webhook|whoami';
/** Not in what an administrator is to run, who has a file of their own. */
const ofCaller = new RegExp(`(?<!\\badministrator\\b[^;\\n]*)(?<![\\w./-])svc (?=(?:${reading})(?![\\w-]))`, 'g');

/** The text with its commands as the caller can paste them: with the value of `--config`, if there is one. */
export function pasteable(text: string, config: string | undefined): string {
  return config === undefined ? text : text.replace(ofCaller, () => `svc --config ${shellWord(config)} `);
}

const shellWord = (text: string) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
