/** The `server.toml` that `svc init` writes: what a first gateway needs; `server.toml.example` has every key. */
export const serverToml = `# The gateway: "svc server" and "svc worker" read this file. "svc config check" says what is wrong with it.
# \${NAME} and \${NAME:-default} take a variable of the environment. Every other key with its default: server.toml.example

# Where the gateway keeps its own files: the first tokens, results, secret.key. Relative to this file.
state_dir = "state"

[server]
listen = "127.0.0.1:3000"
# Shows /docs and /openapi.json without a credential.
#public_docs = true

# The gateway's own PostgreSQL, never a target of requests: postgres://user:password@host:5432/svc
[database]
url = "\${SVC_DATABASE_URL}"

[temporal]
address = "\${SVC_TEMPORAL_ADDRESS:-localhost:7233}"

# The databases that requests may name. How they are reached is in agent.toml, never here.
[[databases]]
name = "shop"
environments = ["development", "production"]
dialect = "postgresql"

# What the first agent token, in state/agent-token, and others made without --scope may serve. An agent token that says nothing is refused.
[agents]
default_scopes = ["shop/*"]
require_scopes = true

# Who is in a group is kept by the gateway: svc user update mira --add-group dba-team
# A token has no roles that were given after it was made: svc user reissue-initial-token mira
# Nobody approves for who made them a user or a member, so a second admin should add those who approve for the first.
[[auth.groups]]
name = "dba-team"
roles = ["approver"]

# On development what is of low risk passes by itself, the rest waits for one of the DBA team.
[[workflows]]
database = "shop"
environment = "development"
auto_approve = { mode = "risk_based", risk = "low" }

[[workflows.steps]]
[[workflows.steps.approvers]]
group = "dba-team"

# On production everything waits for one of the DBA team, and needs a reason.
[[workflows]]
database = "shop"
environment = "production"
require_reason = true

[[workflows.steps]]
[[workflows.steps.approvers]]
group = "dba-team"
min = 1
`;
