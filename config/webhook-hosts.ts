import { lookup as lookUp } from 'node:dns/promises';
import { isIP } from 'node:net';
import { within } from '../lib/deadline.js';
import { refusedHost } from './addresses.js';
import type { Draft } from './draft.js';
import { UNREAD } from './leaf.js';
import type { Path } from './positions.js';
import type { Findings } from './problems.js';

/** All addresses of a name. Rejects if it has none. */
export type Lookup = (host: string) => Promise<{ address: string }[]>;

/** For all names together. A lookup that takes longer is not waited for. */
const lookupMs = 3000;
/** Node runs two lookups at a time, and none can be stopped: more would delay other lookups of the process after the check. */
const atOnce = 2;

/** Checks webhooks as they are written (NT-41, NT-44). */
export function checkWebhooks(draft: Draft, findings: Findings): void {
  for (const { host, path } of listHosts(draft)) {
    const refused = refusedHost(host, allowsPrivate(draft));
    if (refused !== null) findings.error({ path, message: `host ${host} is ${describe[refused]}`, hint: hints[refused] });
  }
  for (const { path, value } of draft.lists.webhooks) {
    if (value.secret !== null && value.secret.length < 16)
      findings.warning({ path: [...path, 'secret'], message: 'is shorter than 16 characters' });
  }
}

/** Looks up the hosts of webhooks (NT-42). One that has no address now may have one later; each attempt looks again (NT-43). */
export async function checkWebhookHosts(
  draft: Draft,
  findings: Findings,
  lookup: Lookup = (host) => lookUp(host, { all: true }),
): Promise<void> {
  const isName = (host: string) => isIP(host.replace(/^\[(.*)\]$/, '$1')) === 0;
  const named = listHosts(draft).filter(({ host }) => isName(host) && refusedHost(host, allowsPrivate(draft)) === null);
  const found = await findAddresses([...new Set(named.map(({ host }) => host))], lookup);
  for (const { host, path } of named) {
    const addresses = found.get(host);
    const refusals = addresses?.map(({ address }) => refusedHost(address, allowsPrivate(draft))) ?? [];
    const refused = refusals.find((one) => one === 'never') ?? refusals.find((one) => one !== null);
    if (addresses === undefined) findings.warning({ path, message: `host ${host} was not resolved in ${lookupMs / 1000} s` });
    else if (addresses.length === 0) findings.warning({ path, message: `host ${host} does not resolve` });
    else if (refused != null)
      findings.error({ path, message: `host ${host} resolves to ${describe[refused]}`, hint: hints[refused] });
  }
}

const describe = { private: 'a private address', never: 'a link-local or metadata address' };
const hints = { private: 'set allow_private_networks or use a public host', never: 'use another host' };

const allowsPrivate = ({ sections }: Draft) => sections.root?.allow_private_networks === true;

function listHosts({ lists }: Draft): { host: string; path: Path }[] {
  return lists.webhooks
    .filter(({ value }) => value.url !== UNREAD)
    .map(({ path, value }) => ({ host: new URL(value.url).hostname, path: [...path, 'url'] }));
}

/** The addresses of each name that was answered in time: none if it does not resolve. */
async function findAddresses(hosts: string[], lookup: Lookup): Promise<Map<string, { address: string }[]>> {
  const found = new Map<string, { address: string }[]>();
  const waiting = [...hosts];
  const until = performance.now() + lookupMs;
  const askInTurn = async () => {
    for (let host = waiting.shift(); host !== undefined; host = waiting.shift()) {
      const addresses = await within(
        lookup(host).catch(() => []),
        until - performance.now(),
        undefined,
      );
      if (addresses === undefined) return;
      found.set(host, addresses);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, askInTurn));
  return found;
}
