import { isLowerVersion } from '../../domain/semver.js';
import { type Finding, failed, type PlannedCheck, passed, skipped, warned } from '../../lib/doctor-checks.js';
import { tryJson } from '../../lib/json/read.js';
import { networkHints } from '../../lib/network-faults.js';
import { release } from '../client.js';
import { readAuthority, serverPlace } from '../config/server.js';
import { type ExchangeAnswer, exchange, NoAnswer } from '../exchange.js';
import { proxyFor } from '../proxy.js';
import { version } from '../version.js';
import { chooseWay } from '../way.js';
import { type Place, said } from './place.js';

/** The checks of the address. They send no credential, so that none goes to whatever answers there. */
export const serverChecks = (place: Place): PlannedCheck[] => [
  { id: 'server_reachable', needs: ['layer_safety', 'server_url_scheme'], look: () => serverReachable(place) },
  { id: 'server_ready', needs: ['server_reachable'], look: () => serverReady(place) },
  { id: 'version_info', needs: ['server_reachable'], look: () => versionInfo(place) },
];

async function ask({ context, layers, timeoutMs }: Place, path: string): Promise<ExchangeAnswer> {
  const { baseUrl } = serverPlace(layers!, context.options);
  const way = chooseWay(baseUrl, readAuthority(layers!).pem, context.terminal.environment);
  const url = new URL(baseUrl.href);
  url.pathname = `${baseUrl.pathname.replace(/\/$/, '')}${path}`;
  const headers = { accept: 'application/json', 'user-agent': `svc/${version}`, ...way.headers };
  const { agent, isForwarded } = way;
  const limits = { connectMs: timeoutMs, totalMs: timeoutMs, signal: context.signal };
  try {
    return await exchange({ method: 'GET', url, headers, body: null, agent, isForwarded, ...limits });
  } finally {
    agent.destroy();
  }
}

async function serverReachable(place: Place): Promise<Finding> {
  const { context, layers } = place;
  const { baseUrl, where } = serverPlace(layers!, context.options);
  const proxy = proxyFor(baseUrl, context.terminal.environment);
  const through = proxy === null ? '' : ` through the proxy ${proxy.host}`;
  const details = { server: baseUrl.origin, proxy: proxy?.host ?? null };
  const begunAt = context.terminal.now();
  let answer: ExchangeAnswer;
  try {
    answer = await ask(place, '/health');
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    const hint =
      proxy === null
        ? (networkHints[error.code ?? ''] ?? (error.isConnection ? notHttp : slow))
        : `check the proxy ${proxy.host}; NO_PROXY=${baseUrl.hostname} bypasses it`;
    return failed(`could not reach ${baseUrl.origin}${through} (${said(error.message)})`, {
      hint: `${hint} (${where})`,
      details,
    });
  }
  const body = tryJson(answer.text);
  const found = body?.get('version')?.string() ?? null;
  if (answer.status !== 200 || body?.get('status')?.string() !== 'ok' || found === null)
    return wrongAnswer(answer, { origin: baseUrl.origin, where, through, details });
  place.health = { version: found, headers: answer.headers, at: (begunAt + context.terminal.now()) / 2 };
  return passed(`${baseUrl.origin}${through}`, { details });
}

const notHttp = 'does a web server listen there? http:// is needed where it has no TLS, https:// where it has';
const slow = 'is a VPN, firewall or proxy in the way? --timeout waits longer';

function wrongAnswer(
  { status, headers, text }: ExchangeAnswer,
  { origin, where, through, details }: { origin: string; where: string; through: string; details: object },
): Finding {
  const isGateway = headers['x-svc-version'] !== undefined;
  const told = { details: { ...details, status } };
  if (status >= 300 && status < 400)
    return failed(`${origin} sends callers on to ${said(String(headers.location ?? 'another address'))} (status ${status})`, {
      ...told,
      hint: `svc follows no redirect, because that would send the token on; put the right address into ${where}`,
    });
  if (isGateway)
    return failed(`the gateway answers at ${origin}${through}, but not under this path (status ${status})`, {
      ...told,
      hint: `correct the path of ${where}`,
    });
  if (status === 407)
    return failed(`the proxy wants a user and a password (status 407)`, {
      ...told,
      hint: 'put them into HTTPS_PROXY or HTTP_PROXY',
    });
  if (status === 400 && /https/i.test(text))
    return failed(`${origin} speaks TLS only (status 400)`, { ...told, hint: `write https:// in ${where}` });
  if ([502, 503, 504].includes(status))
    return failed(`a proxy answers for ${origin}${through}, but reaches no server behind it (status ${status})`, {
      ...told,
      hint: 'is svc server running? Ask whoever runs the gateway',
    });
  const program = headers.server === undefined ? '' : `, ${said(String(headers.server))}`;
  return failed(`something else answers at ${origin}${through} (status ${status}${program})`, {
    ...told,
    hint: `check host, port and path of ${where}`,
  });
}

/** What to do about each part that is not ready. */
const partHints: Readonly<Record<string, string>> = {
  database: "the gateway's PostgreSQL is away",
  temporal: 'Temporal is away: requests wait, and time limits pass late',
  worker: 'no svc worker runs: requests wait',
  result_storage: 'the store of results is away',
};

async function serverReady(place: Place): Promise<Finding> {
  const answer = await ask(place, '/ready').catch((error: unknown) => error);
  if (answer instanceof NoAnswer) return failed(`no answer of /ready (${said(answer.message)})`, { hint: slow });
  if (answer instanceof Error) throw answer;
  const { status } = answer as ExchangeAnswer;
  const body = tryJson((answer as ExchangeAnswer).text);
  const state = said(body?.get('status')?.string() ?? `status ${status}`);
  const parts = Object.keys(partHints).flatMap((name) => {
    const found = body?.get('checks')?.get(name)?.string();
    return found == null ? [] : [[name, said(found)] as const];
  });
  const broken = parts.filter(([, found]) => found !== 'ok');
  const names = broken.map(([name, found]) => `${name} ${found}`).join(', ');
  const told = {
    details: { status: state, checks: Object.fromEntries(parts) },
    hint: broken.map(([name]) => partHints[name]).join('; ') || 'the server starts or stops: try again soon',
  };
  if (status !== 200) return failed(`the server is not ready: ${names || state}`, told);
  return broken.length > 0
    ? warned(`the server is up, but: ${names}`, told)
    : passed('all parts are ready', { details: told.details });
}

function versionInfo({ health }: Place): Finding {
  const server = said(health!.version);
  const details = { server, svc: version };
  if (release(server) === release(version)) return passed(`server ${server}, svc ${version}`, { details });
  const hint = isLowerVersion(server, version) ? 'upgrade the server, or use the svc of its release' : 'upgrade svc';
  return warned(`the server is version ${server}, svc is version ${version}`, { hint, details });
}

/** Above this an agent takes no jobs (AP-83); here the clock decides when a login has ended. */
const toleratedMs = 30_000;

export function clockSkew({ health }: Place): Finding {
  const { headers, at } = health!;
  const there = Date.parse(headers.date ?? '');
  if (Number.isNaN(there)) return skipped('the server tells no time');
  // The header has whole seconds.
  const seconds = Math.round((at - there - 500) / 1000);
  const details = { seconds };
  if (Math.abs(seconds) * 1000 <= toleratedMs) return passed(`${Math.abs(seconds)} s apart`, { details });
  const direction = seconds > 0 ? 'ahead of' : 'behind';
  return warned(`the clock here is ${Math.abs(seconds)} s ${direction} the server's`, {
    hint: 'synchronise both with NTP: logins and expiry times depend on the clock',
    details,
  });
}
