/**
 * Whether a host is this machine itself, so that plain http may go there (HD-82: `svc` and `svc-agent`). Accepts every spelling that an address
 * parser takes for 127.0.0.0/8 or ::1: `LOCALHOST`, `127.1`, `0x7f000001`, `[0:0:0:0:0:0:0:1]`, `::ffff:127.0.0.1`. Names below `localhost`, and
 * `localhost.`, do not count: a name server decides where they lead. Nor does 0.0.0.0, which is not an address to call.
 */
export function isLoopbackHost(host: string): boolean {
  const name = canonicalHost(host);
  return name === 'localhost' || name === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(name) || /^\[::ffff:7f[0-9a-f]{2}:/.test(name);
}

/** The host as addresses spell it; empty for a text that is not a host. */
function canonicalHost(host: string): string {
  if (/[^\p{L}\p{N}.:[\]_-]/u.test(host)) return '';
  const literal = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  const address = `http://${literal}/`;
  if (!URL.canParse(address)) return '';
  const url = new URL(address);
  return url.port === '' ? url.hostname : '';
}
