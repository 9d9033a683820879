import { isIP } from 'node:net';
import { unreadableUrl } from '../../../lib/unreadable-url.js';

export interface MysqlAddress {
  host: string;
  port: number;
  user: string;
  password: string;
  /** Null when the address names none. */
  database: string | null;
  /** As in MySQL's own programs; `ca` is a file of certificates. */
  tls: { mode: 'disabled' | 'required' | 'verify_ca' | 'verify_identity'; ca: string | null };
}

const modes = ['disabled', 'required', 'verify_ca', 'verify_identity'] as const;

/**
 * Reads `mysql://user:password@host:port/database?ssl-mode=…&ssl-ca=…`; a returned string says what is wrong, quoting nothing of
 * the address.
 */
export function readMysqlUrl(text: string): MysqlAddress | string {
  if (!URL.canParse(text)) return unreadableUrl;
  const url = new URL(text);
  const { searchParams: options } = url;
  for (const name of options.keys())
    if (name !== 'ssl-mode' && name !== 'ssl-ca') return `unknown option ${JSON.stringify(name)}`;
  const asked = (options.get('ssl-mode') ?? (options.has('ssl-ca') ? 'verify_ca' : 'disabled')).toLowerCase();
  const mode = modes.find((one) => one === asked);
  if (mode === undefined) return `ssl-mode must be one of ${modes.join(', ').toUpperCase()}`;
  if (url.hostname === '' || url.username === '') return 'names no host or no user';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  // The library would compare the certificate with `localhost`.
  if (mode === 'verify_identity' && isIP(host) !== 0)
    return 'ssl-mode VERIFY_IDENTITY needs the name of the host, not its number';
  try {
    return {
      host,
      port: url.port === '' ? 3306 : Number(url.port),
      user: decodeURIComponent(url.username),
      password: decodeURIComponent(url.password),
      database: decodeURIComponent(url.pathname.slice(1)) || null,
      tls: { mode, ca: options.get('ssl-ca') },
    };
  } catch {
    return unreadableUrl;
  }
}
