import { readFile, writeFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { withPart } from '../lib/page-part.js';
import { fileSchema } from './draft.js';
import { type KnownKey, listKeys } from './known-keys.js';
import type { KeyAbout } from './leaf.js';
import { RESTART_KEYS } from './reload.js';

/** The page with the table of keys. After a change of the schema, `npx tsx config/keys-file.ts` writes the table again. */
export const keysFile = new URL('../docs/configuration.md', import.meta.url);

/** The page with the table of the current schema. */
export const withCurrentKeys = (page: string): string => withPart(page, 'keys', tables());

function tables(): string {
  const sections = new Map<string, KnownKey[]>();
  for (const key of listKeys(fileSchema)) {
    const section = sectionOf(key.path);
    sections.set(section, [...(sections.get(section) ?? []), key]);
  }
  return [...sections].map(([section, keys]) => `${heading(section)}\n\n${table(section, keys)}`).join('\n');
}

const sectionOf = (path: string) => path.slice(0, Math.max(0, path.lastIndexOf('.')));

function heading(section: string): string {
  if (section === '') return '### Above the first section';
  const name = section.replaceAll('[]', '');
  return section.endsWith('[]') ? `### \`[[${name}]]\`` : `### \`[${name}]\``;
}

function table(section: string, keys: readonly KnownKey[]): string {
  const rows = keys.map(({ path, about }) => {
    const name = section === '' ? path : path.slice(section.length + 1);
    return `| \`${name}\` | ${about.type} | ${fallbackOf(about)} | ${reloadOf(path)} | ${escaped(about.rule ?? '')} |`;
  });
  return `| Key | Type | Default | R | Rule |\n|---|---|---|---|---|\n${rows.join('\n')}\n`;
}

/** Outside of code, stars and underscores would be markup. */
const escaped = (text: string) => (text.includes('`') ? text : text.replace(/[*_]/g, '\\$&'));

function fallbackOf({ fallback, isRequired }: KeyAbout): string {
  if (isRequired) return 'required';
  return fallback === undefined ? 'none' : `\`${JSON.stringify(fallback)}\``;
}

/**
 * Keys of list entries are shared by all processes, except addresses, secrets (CF-31) and what only the identity provider's part
 * has.
 */
function reloadOf(path: string): string {
  if (RESTART_KEYS.some((key) => key === path)) return '–';
  const isShared = path === 'auth.default_role' || (path.includes('[]') && !path.startsWith('auth.oidc.'));
  return isShared && !['webhooks[].url', 'webhooks[].secret'].includes(path) ? 'S' : 'L';
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  await writeFile(keysFile, withCurrentKeys(await readFile(keysFile, 'utf8')));
