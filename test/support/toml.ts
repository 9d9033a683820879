/** Parts of a `server.toml` that tests put together. Each ends with an empty line. */

const quoted = (names: readonly string[]) => `[${names.map((name) => `"${name}"`).join(', ')}]`;
const lines = (...parts: (string | false | undefined)[]) => `${parts.filter(Boolean).join('\n')}\n\n`;

export const databaseToml = (name: string, environments: string[], dialect: 'postgresql' | 'mysql' | null = 'postgresql') =>
  lines(
    '[[databases]]',
    `name = "${name}"`,
    `environments = ${quoted(environments)}`,
    dialect !== null && `dialect = "${dialect}"`,
  );

export const groupToml = (name: string, roles: string[]) =>
  lines('[[auth.groups]]', `name = "${name}"`, `roles = ${quoted(roles)}`);

export const roleToml = (name: string, permissions: string[], scope: { databases?: string[]; environments?: string[] } = {}) =>
  lines(
    '[[auth.roles]]',
    `name = "${name}"`,
    `permissions = ${quoted(permissions)}`,
    scope.databases && `databases = ${quoted(scope.databases)}`,
    scope.environments && `environments = ${quoted(scope.environments)}`,
  );

/** The group that approves in nearly every test. */
export const dbaTeamToml = groupToml('dba-team', ['approver']);

type Approver = ({ group: string } | { role: string } | { user: string }) & { min?: number };

export interface WorkflowParts {
  database?: string;
  environment?: string | undefined;
  /** The inline table of `auto_approve`. */
  auto?: string;
  /** The approvers of each step; a step of `any` may be said so. */
  steps?: (Approver[] | { any: Approver[] })[];
  /** Further lines. */
  more?: string | undefined;
}

export function workflowToml({ database, environment, auto, steps = [], more }: WorkflowParts): string {
  const stepToml = (step: NonNullable<WorkflowParts['steps']>[number]) => {
    const approvers = Array.isArray(step) ? step : step.any;
    const tables = approvers.map((approver) =>
      [
        '[[workflows.steps.approvers]]',
        ...Object.entries(approver).map(([key, value]) => `${key} = ${JSON.stringify(value)}`),
      ].join('\n'),
    );
    return ['[[workflows.steps]]', ...(Array.isArray(step) ? [] : ['mode = "any"']), ...tables].join('\n');
  };
  return lines(
    '[[workflows]]',
    database !== undefined && `database = "${database}"`,
    environment !== undefined && `environment = "${environment}"`,
    auto !== undefined && `auto_approve = ${auto}`,
    more,
    ...steps.map(stepToml),
  );
}

/** Everything passes at once. */
export const passesToml = (environment?: string, more?: string) =>
  workflowToml({ auto: '{ mode = "always" }', environment, more });

/** One of the DBA team must approve. */
export const needsDbaToml = (environment?: string, more?: string) =>
  workflowToml({ steps: [[{ group: 'dba-team' }]], environment, more });
