import { matchPolicy } from '../../domain/workflow-policy.js';
import { type Finding, failed, type PlannedCheck, passed, skipped, warned } from '../../lib/doctor-checks.js';
import type { JsonText } from '../../lib/json/read.js';
import { CommandFailure } from '../failure.js';
import { showValue } from '../output/details.js';
import { authConfigured } from './local-checks.js';
import { explain, nameOf, type Pair, type Place, said, some } from './place.js';
import { clockSkew } from './server-checks.js';

/** The checks of the credential, and of what it shows. */
export const callerChecks = (place: Place): PlannedCheck[] => [
  { id: 'auth_configured', needs: ['config_parse'], look: () => authConfigured(place) },
  { id: 'auth_valid', needs: ['server_reachable', 'auth_configured'], look: () => authValid(place) },
  { id: 'databases_exist', needs: ['auth_valid'], look: () => databasesExist(place) },
  { id: 'workflows_exist', needs: ['databases_exist'], look: () => workflowsExist(place) },
  { id: 'agents_online', needs: ['auth_valid'], look: () => agentsOnline(place) },
  { id: 'clock_skew', needs: ['server_reachable'], look: () => clockSkew(place) },
];

async function get({ context, timeoutMs }: Place, name: string): Promise<JsonText> {
  const call = { method: 'GET', path: ['api', name], timeoutMs, repeatable: false } as const;
  return (await context.client().call(call)).json();
}

/** A list that the caller may not see is no fault. */
async function unlessForbidden(look: () => Promise<Finding>): Promise<Finding> {
  try {
    return await look();
  } catch (error) {
    if (error instanceof CommandFailure && error.code === 'auth.forbidden') return skipped('you may not see this');
    throw error;
  }
}

const items = (body: JsonText, key: string) => body.get(key)?.items() ?? [];

async function authValid(place: Place): Promise<Finding> {
  let me: JsonText;
  try {
    me = await get(place, 'me');
  } catch (error) {
    const isRefusal = error instanceof CommandFailure && error.code.startsWith('auth.') && error.hint === null;
    return { ...explain(error), ...(isRefusal ? { hint: refusalHint(error.code, place) } : {}) };
  }
  const subject = said(showValue(me.get('subject_id')));
  const roles = items(me, 'roles').map((role) => said(role.get('name')?.string() ?? showValue(role)));
  const expires = me.get('token')?.get('expires_at')?.string() ?? null;
  const details = { subject, roles, token_expires_at: expires === null ? null : said(expires) };
  if (roles.length === 0)
    return warned(`you are ${subject}, without a role`, {
      hint: 'ask an administrator: svc user update ID --add-role requester',
      details,
    });
  const leftMs = expires === null ? Number.POSITIVE_INFINITY : Date.parse(expires) - place.context.terminal.now();
  if (leftMs < soonMs)
    return warned(`you are ${subject}; the token ends ${said(expires!)}`, { hint: 'make a new one: svc token create', details });
  return passed(`you are ${subject}, with the role${roles.length === 1 ? '' : 's'} ${some(roles)}`, { details });
}

const soonMs = 7 * 86_400_000;

function refusalHint(code: string, { context }: Place): string {
  const { source } = context.settings();
  const hints: Readonly<Record<string, string>> = {
    'auth.user_suspended': 'ask an administrator: svc user activate ID',
    'auth.forbidden': 'svc needs the token of a user; an agent has one of its own',
  };
  return hints[code] ?? `check ${source}, or ask an administrator`;
}

async function databasesExist(place: Place): Promise<Finding> {
  const { context, layers } = place;
  const body = await get(place, 'databases');
  const pairs = items(body, 'databases').map(pairOf);
  place.pairs = pairs;
  const details = { count: pairs.length };
  if (pairs.length === 0)
    return failed('you see no database', {
      hint: 'ask an administrator for a role on one; or none is in server.toml yet',
      details,
    });
  const named = [
    context.options.database ?? layers!.find('default_database')?.text,
    ...layers!.files.flatMap(({ databases }) => databases),
  ].filter((name) => name !== undefined);
  const missing = [...new Set(named)].filter((name) => !pairs.some(({ database }) => database === name));
  const seen = `you see ${some([...new Set(pairs.map(({ database }) => database))])}`;
  if (missing.length > 0)
    return failed(`the server has no database ${some(missing)}, or you may not see it`, {
      hint: `${seen}; check the spelling`,
      details,
    });
  const environment = context.options.environment ?? layers!.find('default_environment')?.text;
  if (environment !== undefined && !pairs.some((pair) => pair.environment === environment))
    return failed(`no database that you see has the environment ${environment}`, {
      hint: `you see ${some(pairs.map(nameOf))}`,
      details,
    });
  return passed(some(pairs.map(nameOf)), { details });
}

const pairOf = (pair: JsonText): Pair => ({
  database: pair.get('database')?.string() ?? '',
  environment: pair.get('environment')?.string() ?? '',
});

function workflowsExist(place: Place): Promise<Finding> {
  return unlessForbidden(async () => {
    const workflows = items(await get(place, 'workflows'), 'workflows').map(pairOf);
    const bare = (place.pairs ?? []).filter((pair) => matchPolicy(workflows, pair) === null);
    const details = { count: workflows.length, without: bare.slice(0, 100).map(nameOf) };
    if (bare.length === 0) return passed('every pair that you see has a workflow policy', { details });
    return warned(`no workflow for ${some(bare.map(nameOf))}: requests there are refused`, {
      hint: 'add [[workflows]] to server.toml',
      details,
    });
  });
}

function agentsOnline(place: Place): Promise<Finding> {
  return unlessForbidden(async () => {
    const agents = items(await get(place, 'agents'), 'agents');
    const statusOf = (agent: JsonText) => agent.get('status')?.string() ?? '';
    const online = agents.filter((agent) => statusOf(agent) !== 'offline');
    const served = online.flatMap((agent) => (agent.get('capabilities')?.get('scopes')?.items() ?? []).map(pairOf).map(nameOf));
    const bare = (place.pairs ?? []).map(nameOf).filter((pair) => !served.includes(pair));
    const withFlag = (flag: string) =>
      agents.filter((agent) => showValue(agent.get(flag)) === 'true').map((agent) => said(showValue(agent.get('id'))));
    const [unscoped, doubled] = [withFlag('unscoped'), withFlag('duplicate_instances')];
    const details = {
      online: online.length,
      offline: agents.length - online.length,
      not_served: bare.slice(0, 100),
      unscoped,
      doubled,
    };
    if (online.length === 0)
      return failed(agents.length === 0 ? 'no agent has ever connected' : 'no agent is connected', {
        hint: 'start svc-agent; svc doctor --agent agent.toml says what it lacks',
        details,
      });
    const notes = agentNotes({ bare, doubled, unscoped });
    if (notes.length === 0)
      return passed(`${online.length} of ${agents.length} connected; every pair that you see has one`, { details });
    const joined = (key: 'message' | 'hint') => notes.map((note) => note[key]).join('; ');
    return warned(joined('message'), { hint: joined('hint'), details });
  });
}

function agentNotes({ bare, doubled, unscoped }: Record<'bare' | 'doubled' | 'unscoped', readonly string[]>) {
  return [
    {
      names: bare,
      message: `no agent serves ${some(bare)}`,
      hint: 'start an agent for them, with a token whose --scope covers them',
    },
    {
      names: doubled,
      message: `two processes use the token of ${some(doubled)}`,
      hint: 'give each process its own token; after a restart this passes in a minute',
    },
    {
      names: unscoped,
      message: `the token of ${some(unscoped)} may serve every database`,
      hint: 'replace it with a token that has --scope DATABASE/ENVIRONMENT',
    },
  ].filter(({ names }) => names.length > 0);
}
