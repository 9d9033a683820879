import { isLoopbackHost } from '../domain/loopback.js';
import { dialectOfUrl } from './drivers/url.js';

type Variables = Readonly<Record<string, string | undefined>>;

const postgresModes = ['verify-full', 'verify-ca', 'require', 'prefer', 'no-verify', 'disable'];

const choices = {
  postgresql:
    'goes to another host and must say how it is protected: ?sslmode=verify-full checks the certificate of the server (require, verify-ca and prefer do too), no-verify encrypts without looking, disable does not encrypt',
  mysql:
    'goes to another host and must say how it is protected: ?ssl-mode=VERIFY_IDENTITY or VERIFY_CA checks the certificate of the server, REQUIRED encrypts without looking, DISABLED does not encrypt',
} as const;

/** HD-82: what is wrong with an address that leaves this machine without saying how it is protected; null when nothing is. */
export function protectionProblem(address: string, variables: Variables): string | null {
  const url = new URL(address);
  const dialect = dialectOfUrl(address) ?? 'postgresql';
  const isLocal = dialect === 'mysql' ? isLoopbackHost(url.hostname) : isLocalPostgres(url, variables);
  return isLocal || saysHow(url, dialect) ? null : choices[dialect];
}

/** Finds the host as `pg` does: `host` of the query, then the address's host, then `PGHOST`; a path is a local socket. */
function isLocalPostgres(url: URL, variables: Variables): boolean {
  const host = url.searchParams.getAll('host').at(-1) || decoded(url.hostname) || variables.PGHOST || 'localhost';
  return host.startsWith('/') || isLoopbackHost(host);
}

/**
 * When an option is repeated, `pg` takes the last one. The values of ssl-mode for `mysql` are checked where its address is read.
 */
function saysHow(url: URL, dialect: keyof typeof choices): boolean {
  const options = url.searchParams;
  if (dialect === 'mysql') return options.has('ssl-mode') || options.has('ssl-ca');
  return postgresModes.includes(options.getAll('sslmode').at(-1) ?? '');
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
