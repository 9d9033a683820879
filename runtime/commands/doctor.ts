import { formatProblem, loadConfig } from '../../config/index.js';
import { parseToml, readSource } from '../../config/source.js';
import type { ConfigProblem } from '../../config/types.js';
import { type Check, type Finding, failed, passed, skipped, warned } from '../../lib/doctor-checks.js';
import type { Variables } from '../../lib/expansion.js';
import { auditVariables, textsOf } from '../../lib/variable-audit.js';

/** Which check reports the problems of which part of server.toml; `config_parse` reports all others. */
const parts = [
  ['workflow_validity', /^workflows\b/, 'the workflows are consistent'],
  ['workflow_coverage', /^databases\[.*\.environments\b/, 'every pair has a workflow'],
  [
    'role_resolution',
    /^(auth\.(groups\[.*\.roles|default_role|oidc)|result_policies\[.*\.access|slack\.onboarding\.assignable)/,
    'every role and group is defined',
  ],
  ['built_in_role_collision', /^auth\.roles\[[^\]]*\](?: ".*")?\.name$/, 'no role has the name of a built-in one'],
  ['webhook_refs', /^(webhooks|notification_policies)\b/, 'every webhook is defined'],
  ['sql_review_safety', /^sql_review\b/, 'the rules are consistent'],
  ['slack_config', /^slack\b/, 'nothing is wrong'],
  [
    'keys_readable',
    /^(security|SVC_SECRET_KEY|temporal\.tls_files|database\.ca_file|license)\b/,
    'all files exist, and no other user can read them',
  ],
] as const;

type PartId = (typeof parts)[number][0];

/** The checks of `svc doctor --server` (CL-45): those of start and reload on the file alone. Nothing is contacted. */
export function doctorServer(file: string, variables: Variables): Check[] {
  const source = readSource(file);
  const parsed = 'text' in source ? parseToml(file, source.text) : source;
  if ('problem' in parsed) return unread(parsed.problem);
  const loaded = loadConfig(file, variables);
  const errors = loaded.ok ? [] : loaded.errors;
  const of = (belongs: (problem: ConfigProblem) => boolean) => ({
    errors: errors.filter(belongs),
    warnings: loaded.warnings.filter(belongs),
  });
  const isElsewhere = (problem: ConfigProblem) => partOf(problem) !== null;
  return [
    {
      id: 'config_parse',
      ...told(
        of((one) => !isElsewhere(one)),
        file,
      ),
    },
    { id: 'env_vars', ...auditVariables(textsOf(parsed.table), variables, own) },
    ...parts.map(([id, , fine]) => {
      const found = told(
        of((one) => partOf(one) === id),
        fine,
      );
      return { id, ...(id === 'sql_review_safety' && found.status === 'pass' ? reviewSafety(parsed.table, found) : found) };
    }),
  ];
}

/** The first part that fits: `slack.onboarding` names roles. */
const partOf = ({ key }: ConfigProblem): PartId | null => parts.find(([, pattern]) => pattern.test(key))?.[0] ?? null;

function unread(problem: ConfigProblem): Check[] {
  const first = {
    id: 'config_parse',
    ...failed(formatProblem({ ...problem, hint: null }), { hint: problem.hint ?? 'correct the file' }),
  };
  return [first, ...['env_vars', ...parts.map(([id]) => id)].map((id) => ({ id, ...skipped('needs config_parse') }))];
}

function told({ errors, warnings }: { errors: ConfigProblem[]; warnings: ConfigProblem[] }, fine: string): Finding {
  const all = [...errors, ...warnings];
  if (all.length === 0) return passed(fine);
  const [first] = all as [ConfigProblem];
  const more = all.length > 1 ? ` and ${all.length - 1} more` : '';
  const rest = {
    hint: first.hint ?? 'svc config check reports all of them; docs/configuration.md lists every key',
    details: { errors: errors.map(formatProblem), warnings: warnings.map(formatProblem) },
  };
  const message = `${formatProblem({ ...first, hint: null })}${more}`;
  return errors.length > 0 ? failed(message, rest) : warned(message, rest);
}

/** What server and worker read of the environment besides what the file names (CF-7). */
const own = ['SVC_SECRET_KEY', 'SVC_LICENSE_KEY', 'SVC_LOG_LEVEL', 'SVC_LOG_FORMAT'];

/** What blocks unless the file says otherwise: it destroys data. */
const blocking = ['no_where_delete', 'no_where_update', 'drop_table', 'truncate'];

/** Warns of rules that are off, which may be intended. */
function reviewSafety({ sql_review: entries }: Record<string, unknown>, fine: Finding): Finding {
  const off = (Array.isArray(entries) ? entries : []).flatMap((entry: Record<string, unknown>, index) =>
    blocking.flatMap((rule) => (entry[rule] === 'off' ? [`sql_review[${index}].${rule}`] : [])),
  );
  if (off.length === 0) return fine;
  return warned(`${off.slice(0, 5).join(', ')}${off.length > 5 ? ', ...' : ''}: off`, {
    hint: 'approvers see no finding for such statements; use block or warn',
    details: { off },
  });
}
