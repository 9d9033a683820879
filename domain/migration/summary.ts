import { GatewayError } from '../errors.js';
import type { Operation } from '../policies.js';
import { readBundle, readRepair } from './detail.js';

/** What audit events and notifications say about a migration's detail: its versions, never its SQL (AU-52). */
export function migrationSummary(operation: Operation, detail: string): string {
  try {
    return `${operation}: ${contentOf(operation, detail)}`;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return `${operation}: ${error.message}`;
  }
}

function contentOf(operation: Operation, detail: string): string {
  if (operation === 'migrate_status') return 'versions=[]';
  if (operation === 'migrate_repair') return `versions=[${shown(readRepair(detail).version)}]`;
  const { migrations, maxCount } = readBundle(detail, operation === 'migrate_down' ? 'down' : 'up');
  const versions = `versions=[${migrations.map(({ version }) => shown(version)).join(',')}]`;
  return maxCount === null ? versions : `${versions} max_count=${maxCount}`;
}

/** `dir_sha256` as events show it. Any string is accepted there, so only a hash in some notation is shown, else its length (MI-12). */
export function toldDirectory(dirSha256: string): string {
  return /^[\w+/=:.-]{1,128}$/.test(dirSha256) ? dirSha256 : `<invalid:${dirSha256.length}>`;
}

/** Versions are ASCII (MI-02), so characters are bytes. */
const shown = (version: string) => (version.length > 64 ? `<invalid:${version.length}>` : version);
