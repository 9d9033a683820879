import type { Config } from '../../config/types.js';
import { keyOf } from '../../crypto/key-text.js';
import type { Database } from '../../db/client.js';
import { type KeyPurpose, listAllKeys, type SigningKeyRow } from '../../db/signing-keys.js';
import { GatewayError } from '../../domain/errors.js';
import { fileFault } from '../../lib/file-fault.js';
import { type KeyWork, revokeSigningKey, rotateKeys, rotatesAtOnce } from '../key-rotation.js';
import { isReadableByOthers, readIfThere } from '../private-files.js';
import { rotateSecretKey } from '../rotate-secret-key.js';
import { loadExistingSecretKey } from '../secret-key.js';
import { tryOpenKey } from '../signing-keys.js';
import { StartError } from '../start-error.js';
import { readConfig, requireSchema, withDatabase } from './own-database.js';
import { type Say, sayAll, standardStreams } from './say.js';

export type KeyCommand =
  | { verb: 'list' }
  | { verb: 'rotate'; overlapSecs: number; now: boolean }
  | { verb: 'revoke'; keyId: string }
  | { verb: 'import'; file: string }
  | { verb: 'rotate-secret'; file: string };

export interface KeysOptions {
  config: string;
  purpose: KeyPurpose;
  command: KeyCommand;
}

/** ET-25: how long an old key keeps signing for agents that know no newer one, by default. */
const defaultOverlapSecs = 86_400;

/** `svc server keys` (ET-25): works on the database; no server needs to run. The exit code is 0, or 1 with one line per error. */
export async function runKeys({ config: file, purpose, command }: KeysOptions, say: Say = standardStreams): Promise<number> {
  try {
    const config = readConfig(file);
    await withDatabase(config, async (database) => {
      await requireSchema(database);
      if (command.verb === 'list') return list(config.security, { database, purpose }, say);
      if (command.verb === 'rotate-secret') return rotateSecret(config.security, database, command.file, say);
      await change(command, { database, purpose, secretKey: await loadExistingSecretKey(config.security) }, say);
    });
    return 0;
  } catch (error) {
    if (error instanceof StartError) return sayAll(say, error.lines);
    if (error instanceof GatewayError)
      return sayAll(say, ['the gateway database went away: svc server keys list shows what was done']);
    throw error;
  }
}

async function change(
  command: Exclude<KeyCommand, { verb: 'list' | 'rotate-secret' }>,
  work: KeyWork,
  { out, data }: Say,
): Promise<void> {
  if (command.verb === 'revoke') {
    const made = await revokeSigningKey(work, command.keyId);
    data?.({ revoked: command.keyId, current: made });
    const rest = work.purpose === 'audit' ? 'what it signed still verifies' : 'agents drop it when they next fetch the keys';
    out(`revoked ${command.keyId}: nothing is signed with it any more, and ${rest}`);
    if (made !== null) out(`made ${made}, the current key from now on`);
    return;
  }
  const now = rotatesAtOnce(work.purpose) || (command.verb === 'rotate' && command.now);
  const overlapSecs = command.verb === 'rotate' ? command.overlapSecs : defaultOverlapSecs;
  const seed = command.verb === 'import' ? { seed: await readKey(command.file, 'an Ed25519 seed') } : {};
  const keyId = await rotateKeys(work, { overlapSecs, now, ...seed });
  data?.({ key_id: keyId, status: now ? 'current' : 'next' });
  out(now ? `${keyId} is the current key` : `${keyId} is published and becomes the current key in 10 minutes, if a worker runs`);
}

/** HD-50: changes from the configured secret key to the one in the file. */
async function rotateSecret(security: Config['security'], database: Database, file: string, { out }: Say): Promise<void> {
  const [from, to] = [await loadExistingSecretKey(security), await readKey(file, 'a secret key')];
  const count = await rotateSecretKey(database, from, to);
  out(`signing keys, generations and ${count} requests are under the secret key of ${file}`);
  out('replace the old key with it for every server and worker, then start them');
}

/** Reads 64 hex characters from a file that only its owner can read. Errors quote no byte of it. */
async function readKey(file: string, what: string): Promise<Uint8Array<ArrayBuffer>> {
  const text = await readIfThere(file).catch((error: unknown) => {
    throw new StartError(`${file}: cannot be read (${fileFault(error)})`);
  });
  if (text === null) throw new StartError(`${file}: there is no such file`);
  if (await isReadableByOthers(file)) throw new StartError(`${file}: the key is readable by others (chmod 600 ${file})`);
  const key = keyOf(text);
  if (key === null) throw new StartError(`${file}: ${what} has 64 hex characters`);
  return key;
}

/** A key as the database has it. Its public key is null unless its seal opens: somebody else may have written it there, for others to trust it. */
type ListedKey = Omit<SigningKeyRow, 'sealedSeed' | 'publicKey'> & { publicKey: string | null };

async function list(security: Config['security'], { database, purpose }: Omit<KeyWork, 'secretKey'>, say: Say): Promise<void> {
  const secretKey = await loadExistingSecretKey(security);
  const keys = (await listAllKeys(database, purpose)).map(({ sealedSeed, ...row }) => {
    const own = tryOpenKey({ keyId: row.keyId, sealedSeed }, purpose, secretKey);
    return { ...row, publicKey: own?.publicKeyHex ?? null };
  });
  tellKeys(keys, purpose, say);
  for (const { keyId, publicKey } of keys)
    if (publicKey === null) say.err(`key ${keyId} does not open under the secret key: do not trust it`);
}

function tellKeys(keys: readonly ListedKey[], purpose: KeyPurpose, { out, data }: Say): void {
  data?.({ keys: keys.map(keyData) });
  const line = (cells: readonly string[]) =>
    out(`${cells[0]!.padEnd(16)}  ${cells[1]!.padEnd(8)}  ${cells[2]!.padEnd(24)}  ${cells[3]}`.trimEnd());
  line(['KEY ID', 'STATUS', 'CREATED', '']);
  for (const key of keys) line([key.keyId, key.status, instant(key.createdAt), remark(key)]);
  const trusted = keys.filter(({ status, publicKey }) => publicKey !== null && mayVerify[purpose].has(status));
  if (trusted.length === 0) return;
  out('');
  out(forWhom[purpose]);
  if (purpose === 'audit') for (const { publicKey } of trusted) out(publicKey!);
  else out(`trusted_keys = [${trusted.map(({ publicKey }) => `"${publicKey}"`).join(', ')}]`);
}

const forWhom: Record<KeyPurpose, string> = {
  audit: 'For whoever verifies exports (svc audit verify --public-key) and evidence (svc evidence verify --key):',
  execution_token: 'For [server] of agent.toml, so that agents trust these keys and no others:',
};

const mayVerify: Record<KeyPurpose, ReadonlySet<SigningKeyRow['status']>> = {
  // What a key signed before it was retired verifies for ever (AU-40). A revoked one is for whoever still needs it: `--json` has it.
  audit: new Set(['current', 'retiring', 'retired']),
  execution_token: new Set(['next', 'current', 'retiring']),
};

const keyData = ({ keyId, status, publicKey, createdAt, activatedAt, notAfter }: ListedKey) => {
  const at = (ms: number | null) => (ms === null ? null : instant(ms));
  return {
    key_id: keyId,
    status,
    public_key: publicKey,
    created_at: at(createdAt),
    current_from: at(activatedAt),
    signs_until: at(notAfter),
  };
};

function remark({ status, activatedAt, notAfter }: ListedKey): string {
  if (status === 'next') return `current from ${instant(activatedAt)}`;
  return status === 'retiring' ? `signs until ${instant(notAfter)} for agents that know no newer key` : '';
}

const instant = (ms: number | null) => (ms === null ? '-' : new Date(ms).toISOString());
