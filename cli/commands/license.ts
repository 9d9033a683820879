import { createPrivateKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { type SigningKey, signingKeyFromSeed } from '../../crypto/ed25519.js';
import { parseLicenseKey, signLicense } from '../../crypto/license-key.js';
import type { License, PlanName } from '../../domain/license.js';
import { fileFault } from '../../lib/file-fault.js';
import { visible } from '../../lib/visible.js';
import type { Context } from '../context.js';
import { CommandFailure, failure } from '../failure.js';
import { detailInstant, showInstant } from '../output/instant.js';
import type { Answer } from '../output/output.js';
import type { Style } from '../output/style.js';
import { readInput, readTextFile } from '../read-input.js';
import { parseWhen } from '../when.js';
import { writeWhole } from '../whole-file.js';

/** `svc license keygen` (CL-50). The private key is PKCS #8 in PEM, which openssl reads too. */
export async function makeLicenseKey(
  context: Context,
  _: readonly string[],
  { out, force = false }: { out: string; force?: boolean },
): Promise<Answer> {
  const { privateKey } = generateKeyPairSync('ed25519');
  const path = resolve(context.terminal.directory, out);
  writePrivate(context, path, privateKey.export({ format: 'pem', type: 'pkcs8' }), force);
  const { publicKeyHex } = signingKeyFromSeed(seedOf(privateKey.export({ format: 'der', type: 'pkcs8' })));
  return {
    data: JSON.stringify({ public_key: publicKeyHex, file: path }),
    human: () => `${publicKeyHex}\n`,
    note: `the private key is in ${path}; the line above is license.public_key of server.toml`,
  };
}

function writePrivate(context: Context, path: string, content: string | Buffer, force: boolean): void {
  try {
    writeWhole(path, content, { replaces: force });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw failure('usage', `${context.what}: ${path} already exists`, { hint: '--force writes over it' });
    throw failure('usage', `${context.what}: ${path} cannot be written (${fileFault(error)})`);
  }
}

interface IssueOptions {
  key: string;
  plan: PlanName;
  to: string;
  expires: string;
  keyId?: string;
  maxUsers?: number;
  maxDatabases?: number;
}

/** `svc license issue` (CL-51): the key alone on stdout. */
export async function issueLicense(context: Context, _: readonly string[], options: IssueOptions): Promise<Answer> {
  const { plan, to, maxUsers, maxDatabases } = options;
  if (to.trim() === '') throw failure('usage', `${context.what}: --to must not be empty`);
  const now = context.terminal.now();
  const expires = Date.parse(parseWhen(options.expires, 'expires', now));
  if (expires <= now) context.output.warn('this licence has expired already');
  const limits = { max_users: maxUsers, max_databases: maxDatabases };
  const payload = JSON.stringify({
    key_id: options.keyId ?? `lic-${randomBytes(4).toString('hex')}`,
    plan,
    issued_to: to,
    issued_at: wholeSeconds(now),
    expires_at: wholeSeconds(expires),
    ...(maxUsers === undefined && maxDatabases === undefined ? {} : { limits }),
  });
  const key = signLicense(payload, readPrivateKey(context, options.key));
  return { data: JSON.stringify({ key }), human: () => `${key}\n` };
}

const wholeSeconds = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`;

function readPrivateKey(context: Context, file: string): SigningKey {
  try {
    const key = createPrivateKey(readTextFile(context, file));
    if (key.asymmetricKeyType === 'ed25519') return signingKeyFromSeed(seedOf(key.export({ format: 'der', type: 'pkcs8' })));
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
  }
  throw failure('usage', `${context.what}: ${file} is not a private key made by svc license keygen`);
}

/** RFC 8410: the seed is the end of the document. */
const seedOf = (pkcs8: Buffer) => Uint8Array.from(pkcs8.subarray(-32));

/** `svc license show` (CL-52). */
export async function showLicense(
  context: Context,
  [given = '']: readonly string[],
  { publicKey }: { publicKey?: string },
): Promise<Answer> {
  const text = given === '-' ? Buffer.from(await readInput(context, '-')).toString('utf8') : given;
  const found = parseLicenseKey(text);
  if (found === null || found.license === null || found.payload === null)
    throw failure('usage', `${context.what}: this is not a licence key`, { hint: 'a key begins with svc_lic_v1.' });
  const { license, payload } = found;
  const isSigned = publicKey === undefined ? null : found.fits(publicKey);
  const isExpired = context.terminal.now() >= license.expiresAt;
  const data = `{"payload":${payload},"signature_fits":${isSigned},"expired":${isExpired}}`;
  const human = () => pageOf(license, isSigned, context.output.style);
  if (isSigned === false) throw broken(context, 'the signature does not fit the public key', { data, human });
  if (isSigned === true && isExpired)
    throw broken(context, `the licence expired ${showInstant(new Date(license.expiresAt).toISOString())}`, { data, human });
  return { data, human, ...(isSigned === null ? { note: 'nothing was verified: give the public key with --public-key' } : {}) };
}

const broken = ({ what }: Context, why: string, shown: { data: string; human: () => string }) =>
  new CommandFailure('integrity_violation', `${what}: ${why}`, { ...shown, exit: 1 });

function pageOf({ keyId, plan, issuedTo, issuedAt, expiresAt, limits }: License, isSigned: boolean | null, style: Style): string {
  const instant = (ms: number) => detailInstant(new Date(ms).toISOString(), style);
  const most = (limit: number | null) => (limit === null ? 'no limit' : String(limit));
  const rows = [
    ['licence', visible(keyId)],
    ['plan', plan],
    ['issued to', visible(issuedTo)],
    ['issued', instant(issuedAt)],
    ['expires', instant(expiresAt)],
    ['users', most(limits.maxUsers)],
    ['databases', most(limits.maxDatabases)],
    ['signature', isSigned === null ? 'not checked' : isSigned ? 'fits' : 'does not fit'],
  ];
  return rows.map(([label, value]) => `${label!.padEnd(11)}${value}\n`).join('');
}
