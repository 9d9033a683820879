import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { keyOf } from '../crypto/key-text.js';
import { readLicense } from '../crypto/license-key.js';
import { PLANS } from '../domain/license.js';
import type { Draft } from './draft.js';
import { UNREAD } from './leaf.js';
import type { Path } from './positions.js';
import type { Findings } from './problems.js';

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Checks the keys that concern the files, the environment and the licence of this process. Relative paths start in `directory`
 * (CF-2).
 */
export function checkLocal(draft: Draft, directory: string, environment: Variables, findings: Findings): void {
  checkFiles(draft, directory, findings);
  checkSecretKey(draft, directory, environment, findings);
  checkLicense(draft, environment, findings);
  checkLogging(environment, findings);
  warn(draft, findings);
}

function checkFiles({ sections: { database, temporal } }: Draft, directory: string, findings: Findings): void {
  const files: [string | null | undefined, Path][] = [
    [database?.ca_file, ['database', 'ca_file']],
    ...(['ca', 'cert', 'key'] as const).map((key): [string | null | undefined, Path] => [
      temporal?.tls_files[key],
      ['temporal', 'tls_files', key],
    ]),
  ];
  for (const [file, path] of files) {
    if (file != null && !isReadable(resolve(directory, file))) findings.error({ path, message: 'file cannot be read' });
  }
}

/** Without `SVC_SECRET_KEY` a file that is named must exist, and a key file must hold a key that only we can read (ET-21, ET-21a, ET-22). */
function checkSecretKey(
  { sections: { root, security }, broken }: Draft,
  directory: string,
  environment: Variables,
  findings: Findings,
): void {
  const path = ['security', 'secret_key_file'];
  const key = environment.SVC_SECRET_KEY;
  if (key) {
    if (!/^[0-9a-f]{64}$/i.test(key))
      findings.error({ path: ['SVC_SECRET_KEY'], message: 'environment variable must be 64 hex characters' });
    return;
  }
  if (broken.has('security')) return;
  const named = security?.secret_key_file ?? null;
  const file = named ?? (root === undefined || root.state_dir === UNREAD ? null : `${root.state_dir}/secret.key`);
  const mode = file === null ? null : modeOf(resolve(directory, file));
  if (mode === null) {
    if (named !== null) findings.error({ path, message: 'file is missing' });
  } else if (mode === 'unreadable') findings.error({ path, message: 'file cannot be read' });
  else if ((mode & 0o077) !== 0) findings.error({ path, message: 'key file is readable by others', hint: 'chmod 600' });
  else if (!holdsKey(resolve(directory, file!))) findings.error({ path, message: 'file must hold 64 hex characters' });
}

/** OP-44 and the warning of OP-42. */
function checkLicense({ sections, broken, names }: Draft, environment: Variables, findings: Findings): void {
  const path = ['license', 'key'];
  if (sections.license === undefined || broken.has('license')) return;
  const key = sections.license.key ?? (environment.SVC_LICENSE_KEY || null);
  const publicKey = sections.license.public_key;
  let maxDatabases: number | null = PLANS.free.maxDatabases;
  if (key !== null) {
    const license = publicKey === null ? 'needs license.public_key' : readLicense(key, publicKey);
    if (typeof license === 'string') findings.error({ path, message: license });
    else if (license.expiresAt > Date.now()) maxDatabases = license.limits.maxDatabases;
  }
  if (maxDatabases !== null && names.databases.size > maxDatabases)
    findings.warning({
      path: ['databases', maxDatabases],
      message: `database limit of the plan: ${maxDatabases}`,
      hint: 'requests on later ones are refused',
    });
}

/** The two variables override the file (OP-93). */
function checkLogging(environment: Variables, findings: Findings): void {
  const allowed = { SVC_LOG_LEVEL: ['error', 'warn', 'info', 'debug'], SVC_LOG_FORMAT: ['text', 'json'] };
  for (const [name, values] of Object.entries(allowed)) {
    const value = environment[name];
    if (value && !values.includes(value))
      findings.error({ path: [name], message: `environment variable must be one of ${values.join(', ')}` });
  }
}

function warn({ sections: { audit, auth, slack }, broken }: Draft, findings: Findings): void {
  if (audit?.redaction === 'none')
    findings.warning({ path: ['audit', 'redaction'], message: 'none keeps SQL with its values in the audit log' });
  if (auth?.oidc?.link_existing_users)
    findings.warning({
      path: ['auth', 'oidc', 'link_existing_users'],
      message: 'lets the identity provider act as any local user',
    });
  const blank = [slack?.bot_token, slack?.signing_secret].filter((secret) => secret?.trim() === '');
  if (blank.length === 1 && !broken.has('slack'))
    findings.warning({ path: ['slack'], message: 'is off: bot_token and signing_secret must both be set' });
}

/** The permission bits of a file that this process can read, or null if there is none. */
function modeOf(file: string): number | 'unreadable' | null {
  try {
    const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? null;
    return mode === null || isReadable(file) ? mode : 'unreadable';
  } catch {
    return 'unreadable';
  }
}

/** A key with some white space is short; a larger file is not read. */
function holdsKey(file: string): boolean {
  return statSync(file).size <= 1000 && keyOf(readFileSync(file, 'utf8')) !== null;
}

function isReadable(file: string): boolean {
  try {
    accessSync(file, constants.R_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
