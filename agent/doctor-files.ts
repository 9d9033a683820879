import { statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type Finding, passed, warned } from '../lib/doctor-checks.js';
import { expandText, type Variables, variablesIn } from '../lib/expansion.js';
import type { KeyedText } from '../lib/variable-audit.js';

/** Who else can read the token and the addresses of databases. */
export function auditPermissions(file: string, texts: readonly KeyedText[], variables: Variables): Finding {
  const ownFile = texts.some(isSecret) ? [file] : [];
  const named = texts.flatMap(({ key, text }) => {
    const expanded = expandText(text, variables);
    return secretFiles.test(key) && 'text' in expanded ? [resolve(dirname(resolve(file)), expanded.text)] : [];
  });
  const files = [...ownFile, ...named];
  const loose = process.platform === 'win32' ? [] : files.filter(isReadableByOthers);
  const details = { files };
  if (loose.length > 0) return warned(`others can read ${loose.join(', ')}`, { hint: `chmod 600 ${loose.join(' ')}`, details });
  return passed(files.length === 0 ? 'no file holds a secret' : 'only its owner can read what holds a secret', { details });
}

const secretFiles = /^(server\.agent_token_file|databases\..+\.(read_)?url_file)$/;

/** A token, or an address with a password, that stands in the file itself. */
function isSecret({ key, text }: KeyedText): boolean {
  if (key === 'server.agent_token') return variablesIn(text).length === 0;
  return /^databases\..+\.(read_)?url$/.test(key) && /:\/\/[^/@:]*:(?!\$\{)[^/@]+@/.test(text);
}

/** A missing file is reported by the check of agent.toml. */
function isReadableByOthers(file: string): boolean {
  const found = statSync(file, { throwIfNoEntry: false });
  return found !== undefined && (found.mode & 0o077) !== 0;
}
