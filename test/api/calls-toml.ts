import { databaseToml, dbaTeamToml, groupToml, needsDbaToml, passesToml, roleToml, workflowToml } from '../support/toml.js';

const dba = { group: 'dba-team' };

/** Two databases, four kinds of workflow (none for shop/lab), and roles limited to one database. */
export const callsToml = [
  databaseToml('shop', ['staging', 'production', 'qa', 'lab', 'dev']),
  databaseToml('ledger', ['staging', 'production']),
  dbaTeamToml,
  groupToml('leads', ['approver']),
  groupToml('readers', ['requester']),
  roleToml('ledger-user', ['request.query', 'request.dml', 'request.view', 'request.cancel', 'request.resume', 'result.view'], {
    databases: ['ledger'],
  }),
  roleToml('shop-viewer', ['request.view', 'result.view'], { databases: ['shop'], environments: ['production'] }),
  roleToml('shop-operator', ['request.view:any', 'request.cancel:any', 'request.resume:any', 'result.view:any', 'audit.read'], {
    databases: ['shop'],
  }),
  roleToml('emergency', ['request.break_glass_query', 'request.view']),
  roleToml('nothing-much', ['workflow.read']),
  passesToml('staging'),
  needsDbaToml('production'),
  workflowToml({
    database: 'shop',
    environment: 'qa',
    more: 'require_reason = true',
    steps: [[dba, { group: 'leads' }], { any: [{ role: 'shop-operator' }, { user: 'erin' }] }],
  }),
  workflowToml({
    database: 'shop',
    environment: 'dev',
    more: `allow_self_approve = true
allow_same_approver_across_steps = true
pending_ttl_secs = 3600
approval_ttl_secs = 1800`,
    steps: [[dba], [dba]],
  }),
  `[[execution_policies]]
environment = "dev"
execution_window_secs = 600

[[execution_policies]]
environment = "staging"
max_executions = 3
retry_on_failure = true

[[result_policies]]
database = "ledger"
environment = "production"
access = ["group:leads"]

[[result_policies]]
database = "ledger"
environment = "staging"
delivery_mode = "stream"
`,
].join('');
