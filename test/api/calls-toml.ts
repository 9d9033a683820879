/** Two databases, four kinds of workflow (none for shop/lab), and roles limited to one database. */
export const callsToml = `
[[databases]]
name = "shop"
environments = ["staging", "production", "qa", "lab", "dev"]
dialect = "postgresql"

[[databases]]
name = "ledger"
environments = ["staging", "production"]
dialect = "postgresql"

[[auth.groups]]
name = "dba-team"
roles = ["approver"]

[[auth.groups]]
name = "leads"
roles = ["approver"]

[[auth.groups]]
name = "readers"
roles = ["requester"]

[[auth.roles]]
name = "ledger-user"
permissions = ["request.query", "request.dml", "request.view", "request.cancel", "request.resume", "result.view"]
databases = ["ledger"]

[[auth.roles]]
name = "shop-viewer"
permissions = ["request.view", "result.view"]
databases = ["shop"]
environments = ["production"]

[[auth.roles]]
name = "shop-operator"
permissions = ["request.view:any", "request.cancel:any", "request.resume:any", "result.view:any", "audit.read"]
databases = ["shop"]

[[auth.roles]]
name = "emergency"
permissions = ["request.break_glass_query", "request.view"]

[[auth.roles]]
name = "nothing-much"
permissions = ["workflow.read"]

[[workflows]]
environment = "staging"
auto_approve = { mode = "always" }

[[workflows]]
environment = "production"
[[workflows.steps]]
[[workflows.steps.approvers]]
group = "dba-team"

[[workflows]]
database = "shop"
environment = "qa"
require_reason = true
[[workflows.steps]]
[[workflows.steps.approvers]]
group = "dba-team"
[[workflows.steps.approvers]]
group = "leads"
[[workflows.steps]]
mode = "any"
[[workflows.steps.approvers]]
role = "shop-operator"
[[workflows.steps.approvers]]
user = "erin"

[[workflows]]
database = "shop"
environment = "dev"
allow_self_approve = true
allow_same_approver_across_steps = true
pending_ttl_secs = 3600
approval_ttl_secs = 1800
[[workflows.steps]]
[[workflows.steps.approvers]]
group = "dba-team"
[[workflows.steps]]
[[workflows.steps.approvers]]
group = "dba-team"

[[execution_policies]]
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
`;
