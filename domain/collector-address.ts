import { isLoopbackHost } from './loopback.js';

/** What is wrong with the address of a collector of traces (OP-94); null when nothing is. */
export function collectorProblem(text: string, allowsPlain: boolean): string | null {
  if (!/^https?:\/\/[^\s]+$/i.test(text) || !URL.canParse(text)) return 'must be an http or https address';
  const { protocol, hostname, username, password } = new URL(text);
  if (username + password !== '' || /[?#]/.test(text)) return 'must hold no user, password, query or fragment';
  if (protocol === 'https:' || allowsPlain || isLoopbackHost(hostname)) return null;
  return 'must be https, except on this machine; or set telemetry.allow_insecure';
}
