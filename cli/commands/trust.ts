import { realpathSync } from 'node:fs';
import { visible } from '../../lib/visible.js';
import { addressText, addressToTrust, parseAddress } from '../config/server.js';
import { changeTrusted, isTrusted, readTrusted, type TrustEntry, trustedFile } from '../config/trusted.js';
import { requireConfirmation } from '../confirmation.js';
import type { Context } from '../context.js';
import { failure } from '../failure.js';
import type { Answer } from '../output/output.js';
import { renderTable } from '../output/table.js';

interface TrustOptions {
  list?: boolean;
  remove?: boolean;
}

/** `svc trust [URL]` (HD-60): a given address must be the one in `svc.toml`; without one it asks the person. Calls no server. */
export async function trust(context: Context, [named]: readonly string[], options: TrustOptions): Promise<Answer> {
  if (options.list === true && (options.remove === true || named !== undefined))
    throw failure('usage', '--list cannot be combined with anything else');
  const file = trustedFile(context.terminal.environment);
  if (options.list === true) return listTrusted(context, file);
  const address = named === undefined ? null : addressOf(named);
  if (options.remove === true) return removeTrusted(file, realpathSync(context.terminal.directory), address);
  const entry = entryHere(context);
  if (address !== null && address !== entry.address)
    throw failure('config_error', `svc.toml names the server ${entry.address}, not ${address}; nothing was trusted`);
  const isNew = !isTrusted(readTrusted(file), entry);
  if (isNew && address === null)
    await requireConfirmation(
      context,
      `Trust ${visible(entry.address)} with your credentials in ${visible(entry.folder)}?`,
      `this lets svc send your credentials to ${entry.address}`,
    );
  if (isNew) await changeTrusted(file, (entries) => (isTrusted(entries, entry) ? entries : [...entries, entry]));
  return {
    data: JSON.stringify({ ...entry, trusted: true }),
    human: () => `${visible(entry.address)} is trusted in ${visible(entry.folder)}\n`,
  };
}

function listTrusted(context: Context, file: string): Answer {
  const entries = readTrusted(file);
  const rows = entries.map(({ folder, address }) => [visible(folder), visible(address)]);
  return {
    data: JSON.stringify(entries),
    human: () =>
      rows.length === 0
        ? 'nothing is trusted\n'
        : renderTable(['FOLDER', 'ADDRESS'], rows, { whole: new Set([0, 1]), style: context.output.style }),
  };
}

/** Without an address, removes all entries of the folder. */
async function removeTrusted(file: string, folder: string, address: string | null): Promise<Answer> {
  const isMeant = (entry: TrustEntry) => entry.folder === folder && (address === null || entry.address === address);
  const removed = readTrusted(file).filter(isMeant);
  if (removed.length > 0) await changeTrusted(file, (entries) => entries.filter((entry) => !isMeant(entry)));
  return {
    data: JSON.stringify({ removed }),
    human: () =>
      removed.length === 0
        ? 'nothing of this is trusted\n'
        : removed.map(({ address }) => `${visible(address)} is no longer trusted in ${visible(folder)}\n`).join(''),
  };
}

function entryHere(context: Context): TrustEntry {
  const entry = addressToTrust(context.layers());
  if (entry !== null) return entry;
  throw failure('config_error', 'this folder has no svc.toml whose address could be trusted', {
    hint: 'a file that you name with --config, and SVC_SERVER_URL, need no trust',
  });
}

function addressOf(text: string): string {
  const url = parseAddress(text);
  if (url === null) throw failure('usage', 'not a valid address (http(s)://host:port)');
  return addressText(url);
}
