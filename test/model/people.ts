import { databaseToml, dbaTeamToml, groupToml, passesToml, workflowToml } from '../support/toml.js';

/** Who takes part, and what the configuration below gives them; the model reads nothing else of it. */
export const people = {
  olive: { groups: [], asks: true, breaksGlass: false, any: false },
  ann: { groups: ['dba-team'], asks: false, breaksGlass: false, any: false },
  bert: { groups: ['dba-team', 'leads'], asks: false, breaksGlass: false, any: false },
  /** Asks, and could approve what she asks for, were it not her own. */
  ida: { groups: ['dba-team'], asks: true, breaksGlass: true, any: false },
  /** No relation to anything but what is shared with him. */
  sam: { groups: [], asks: true, breaksGlass: false, any: false },
  admin: { groups: [], asks: true, breaksGlass: true, any: true },
} satisfies Record<string, { groups: string[]; asks: boolean; breaksGlass: boolean; any: boolean }>;

export type Person = keyof typeof people;

/** Direct roles; groups bring `approver`. */
export const rolesOf: Record<Exclude<Person, 'admin'>, string[]> = {
  olive: ['requester'],
  ann: [],
  bert: [],
  ida: ['dba'],
  sam: ['requester'],
};

/** One follows fences and writes markers everywhere; the other is of the protocol's basic form and knows two pairs. */
export const agents = {
  fern: { environments: ['staging', 'production', 'dev'], fences: true },
  rust: { environments: ['staging', 'production'], fences: false },
} as const;

export type AgentName = keyof typeof agents;

export interface Step {
  mode: 'all' | 'any';
  selectors: string[];
}

interface Rules {
  steps: Step[];
  selfApprove: boolean;
  sameApprover: boolean;
  maxExecutions: number;
  retries: boolean;
}

/** What each environment of the one database asks for, as `modelToml` says; each entry of a step needs one approval. */
export const environments: Record<string, Rules> = {
  staging: { steps: [], selfApprove: false, sameApprover: false, maxExecutions: 2, retries: true },
  production: {
    steps: [
      { mode: 'all', selectors: ['group:dba-team'] },
      { mode: 'any', selectors: ['group:leads', 'user:ida'] },
    ],
    selfApprove: false,
    sameApprover: false,
    maxExecutions: 1,
    retries: false,
  },
  dev: {
    steps: [
      { mode: 'all', selectors: ['group:dba-team', 'group:leads'] },
      { mode: 'all', selectors: ['group:dba-team'] },
    ],
    selfApprove: true,
    sameApprover: true,
    maxExecutions: 3,
    retries: false,
  },
};

const [dba, leads] = [{ group: 'dba-team' }, { group: 'leads' }];

export const modelToml = [
  databaseToml('shop', ['staging', 'production', 'dev']),
  dbaTeamToml,
  groupToml('leads', ['approver']),
  passesToml('staging'),
  workflowToml({ environment: 'production', steps: [[dba], { any: [leads, { user: 'ida' }] }] }),
  workflowToml({
    environment: 'dev',
    more: 'allow_self_approve = true\nallow_same_approver_across_steps = true',
    steps: [[dba, leads], [dba]],
  }),
  '[[execution_policies]]\nenvironment = "staging"\nmax_executions = 2\nretry_on_failure = true\n',
  '[[execution_policies]]\nenvironment = "dev"\nmax_executions = 3\n',
].join('');
