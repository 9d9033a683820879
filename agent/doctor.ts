import { CLOCK_TOLERANCE_MS } from '../crypto/verify-execution-token.js';
import {
  type Check,
  type Finding,
  failed,
  makeChecks,
  type PlannedCheck,
  passed,
  skipped,
  warned,
} from '../lib/doctor-checks.js';
import type { Variables } from '../lib/expansion.js';
import { networkHints } from '../lib/network-faults.js';
import { auditVariables, textsOf } from '../lib/variable-audit.js';
import { type AgentConfigProblem, readAgentConfig } from './config.js';
import { readToml } from './config-files.js';
import type { AgentConfig } from './config-values.js';
import { checkDatabases, skippedDatabases } from './doctor-databases.js';
import { auditPermissions } from './doctor-files.js';
import { dialectOfUrl } from './drivers/url.js';
import { createGatewayClient, saidBy } from './gateway-client.js';
import { type GatewayAnswer, GatewayUnreachable } from './http-exchange.js';
import { fetchKeys } from './key-ring.js';
import { noneTrusted } from './startup.js';
import { defaultTimings, type Timings } from './timings.js';

export interface AgentDoctorOptions {
  file: string;
  variables: Variables;
  /** For each look. */
  timeoutMs: number;
  signal: AbortSignal;
}

/** What the checks share. */
interface Place extends AgentDoctorOptions {
  timings: Timings;
  config: AgentConfig | null;
  problems: readonly AgentConfigProblem[];
  toml: unknown;
  /** The answer to `GET /health`, and the time here when it was half way. */
  health?: { date: string | null; at: number };
}

/** The checks of `svc doctor --agent` (CL-45): no poll, no claim, and nothing is changed. */
export async function doctorAgent(options: AgentDoctorOptions): Promise<Check[]> {
  const { file, variables, timeoutMs } = options;
  const source = readToml(file);
  const timings = { ...defaultTimings, httpMs: timeoutMs, httpConnectMs: timeoutMs, silentMs: timeoutMs };
  const toml = 'toml' in source ? source.toml : null;
  const place: Place = { ...options, ...readAgentConfig(file, variables), timings, toml };
  const checks = await makeChecks(plan(place), () => failed('could not be checked: an error inside the agent'));
  const isBroken = checks.find(({ id, status }) => ['config_parse', 'db_url_scheme'].includes(id) && status !== 'pass');
  if (isBroken || place.config === null) return [...checks, ...skippedDatabases(`needs ${isBroken?.id ?? 'config_parse'}`)];
  return [...checks, ...(await checkDatabases(place.config, timings))];
}

const plan = (place: Place): PlannedCheck[] => [
  { id: 'config_parse', look: () => configParse(place) },
  { id: 'env_vars_audit', look: () => (place.toml === null ? unread : auditVariables(textsOf(place.toml), place.variables)) },
  {
    id: 'file_permissions',
    look: () => (place.toml === null ? unread : auditPermissions(place.file, textsOf(place.toml), place.variables)),
  },
  { id: 'server_reachable', needs: ['config_parse'], look: () => serverReachable(place) },
  { id: 'agent_token_valid', needs: ['server_reachable'], look: () => tokenValid(place) },
  { id: 'public_keys', needs: ['agent_token_valid'], look: () => publicKeys(place) },
  { id: 'clock_skew', needs: ['server_reachable'], look: () => clockSkew(place) },
  { id: 'db_url_scheme', needs: ['config_parse'], look: () => urlScheme(place) },
];

const unread = skipped('needs config_parse');

/** Problems of addresses have a check of their own. */
const isAddress = ({ key }: AgentConfigProblem) => /^databases\..+\.(read_)?url$/.test(key);

const worded = (problems: readonly AgentConfigProblem[], { file }: Place) =>
  problems
    .slice(0, 10)
    .map(({ text }) => text.replace(`${file}: `, ''))
    .join('; ');

function configParse(place: Place): Finding {
  const { config, problems, file } = place;
  const told = config === null ? problems : problems.filter((one) => !isAddress(one));
  if (told.length > 0)
    return failed(`${file}: ${worded(told, place)}`, { hint: 'correct the file; docs/agent.md lists every key' });
  const names = config!.databases.map(({ database, environment }) => `${database}/${environment}`);
  return passed(`${file}: ${names.join(', ')}`, { details: { databases: names } });
}

function urlScheme(place: Place): Finding {
  const told = place.problems.filter(isAddress);
  if (told.length > 0)
    return failed(worded(told, place), { hint: 'correct the address; docs/agent.md and docs/mysql.md show some' });
  const kinds = place.config!.databases.map(
    ({ database, environment, url }) => `${database}/${environment} ${dialectOfUrl(url)}`,
  );
  return passed(kinds.join(', '));
}

function clientOf({ config, timings }: Place, token: string | null) {
  const { url, ca } = config!.server;
  return createGatewayClient({ url, token, ca, userAgent: 'svc-doctor', connectTimeoutMs: timings.httpConnectMs });
}

async function get(place: Place, path: string, token: string | null): Promise<GatewayAnswer> {
  const client = clientOf(place, token);
  try {
    return await client.get(path, { timeoutMs: place.timeoutMs, signal: place.signal });
  } finally {
    client.close();
  }
}

/** Sends no token: something else may answer at the address. */
async function serverReachable(place: Place): Promise<Finding> {
  const { origin } = new URL(place.config!.server.url);
  const begunAt = Date.now();
  let answer: GatewayAnswer;
  try {
    answer = await get(place, '/health', null);
  } catch (error) {
    if (!(error instanceof GatewayUnreachable)) throw error;
    const hint = networkHints[error.code ?? ''] ?? 'check server.url; a proxy of the environment is not used by the agent';
    return failed(`could not reach ${origin} (${error.message})`, { hint });
  }
  const { status, version } = (answer.body ?? {}) as { status?: unknown; version?: unknown };
  if (answer.status !== 200 || status !== 'ok' || typeof version !== 'string')
    return failed(`something else answers at ${origin} (status ${answer.status})`, {
      hint: 'check host, port and path of server.url',
    });
  place.health = { date: answer.date, at: (begunAt + Date.now()) / 2 };
  return passed(`${origin}, version ${version.slice(0, 40)}`);
}

const newToken = 'make one: svc token create --agent NAME --scope DATABASE/ENVIRONMENT';

async function tokenValid(place: Place): Promise<Finding> {
  const answer = await get(place, '/api/public-key', place.config!.server.agentToken);
  if (answer.status === 200) return passed('the gateway accepts the token');
  const said = saidBy(answer) ?? `status ${answer.status}`;
  if (answer.status === 401)
    return failed(`the gateway does not take the token: ${said}`, {
      hint: `it is wrong, expired, revoked, or of another gateway; ${newToken}`,
    });
  if (answer.status === 403)
    return failed(`the token may not do this: ${said}`, { hint: `it must be the token of an agent; ${newToken}` });
  if (answer.status === 404)
    return failed(`there is no gateway at server.url: ${said}`, { hint: 'is a part of its path missing?' });
  return failed(`the gateway answers ${said}`, { hint: 'try again; svc doctor on the side of a user says more' });
}

async function publicKeys(place: Place): Promise<Finding> {
  const { trustedKeys, agentToken } = place.config!.server;
  const client = clientOf(place, agentToken);
  const fetched = await fetchKeys(client, { timings: place.timings, trustedKeys }, place.signal).finally(() => client.close());
  if (!fetched.ok) return failed(fetched.why, { hint: 'svc server keys list shows the keys on the gateway' });
  const pin = 'svc server keys list prints the line with every key that may sign';
  if (fetched.keys.size === 0) return failed(noneTrusted(fetched.others), { hint: pin });
  const ids = [...fetched.keys.keys()];
  const details = { trusted: ids, others: fetched.others, pinned: trustedKeys !== null };
  if (fetched.others.length > 0)
    return warned(`server.trusted_keys does not name ${fetched.others.join(', ')}`, {
      hint: `${pin}; if nobody is rotating keys, find out why`,
      details,
    });
  return passed(`${ids.length} usable${trustedKeys === null ? ', none is pinned' : ''}`, { details });
}

/** Above the tolerance the agent takes no jobs (AP-83). */
function clockSkew({ health }: Place): Finding {
  const there = Date.parse(health!.date ?? '');
  if (Number.isNaN(there)) return skipped('the server tells no time');
  // The header has whole seconds.
  const seconds = Math.round((health!.at - there - 500) / 1000);
  const details = { seconds };
  if (Math.abs(seconds) * 1000 <= CLOCK_TOLERANCE_MS) return passed(`${Math.abs(seconds)} s apart`, { details });
  const message = `the clock here is ${Math.abs(seconds)} s ${seconds > 0 ? 'ahead of' : 'behind'} the server's: the agent would take no jobs`;
  return failed(message, { hint: 'set both by NTP', details });
}
