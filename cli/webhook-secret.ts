import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { webhookKey } from '../crypto/webhook-signature.js';
import { fileFault } from '../lib/file-fault.js';
import type { Context } from './context.js';
import { failure } from './failure.js';

export interface SecretOptions {
  secretEnv?: string;
  secretFile?: string;
}

const usual = 'SVC_HOOK_SECRET';

/** The secret that deliveries are signed with, and the variable to name in `server.toml`. No message repeats the option: it may be the secret, by mistake. */
export function readSecret(context: Context, { secretEnv, secretFile }: SecretOptions): { secret: string; variable: string } {
  const { terminal, what } = context;
  if (secretEnv !== undefined && secretFile !== undefined)
    throw failure('usage', `${what}: --secret-env and --secret-file cannot be used together`);
  const variable = secretEnv ?? usual;
  const text = secretFile === undefined ? terminal.environment[variable] : readSecretFile(context, secretFile);
  const named = secretEnv === undefined ? usual : 'the variable that --secret-env names';
  if (text === undefined || text.trim() === '')
    throw failure('config_error', `${what}: ${secretFile === undefined ? `${named} is not set` : 'the secret file is empty'}`, {
      hint: `take the secret of the webhook, or make one: export ${usual}=whsec_$(openssl rand -base64 32)`,
    });
  const secret = secretFile === undefined ? text : text.trim();
  if (webhookKey(secret) === null)
    throw failure('config_error', `${what}: the secret must have base64 of 24 to 64 bytes after whsec_`);
  return { secret, variable };
}

function readSecretFile({ terminal, output, what }: Context, file: string): string {
  const path = resolve(terminal.directory, file);
  try {
    if (process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0)
      output.warn('the secret file can be read by others; run chmod 600 on it');
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw failure('config_error', `${what}: the secret file cannot be read (${fileFault(error)})`);
  }
}
