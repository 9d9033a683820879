/** The `server.toml` that `svc init` writes: what a first gateway needs; `server.toml.example` has every key. */
export const serverToml = `# The gateway: "svc server" and "svc worker" read this file. "svc config check" checks it.
# \${NAME} and \${NAME:-default} are replaced by environment variables. server.toml.example has every other key with its default.

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

# The databases that requests may name. Their addresses and credentials are in agent.toml, never here.
[[databases]]
name = "shop"
environments = ["development", "production"]
dialect = "postgresql"

# What the first agent token (state/agent-token) and tokens created without --scope may serve. Agent tokens without any scope are refused.
[agents]
default_scopes = ["shop/*"]
require_scopes = true

# The gateway's database has the members of groups: svc user update mira --add-group dba-team
# A token does not get roles that were given later. For a new token: svc user reissue-initial-token mira
# Nobody can approve requests of whoever created their account or membership, so let a second admin add the approvers of the first.
[[auth.groups]]
name = "dba-team"
roles = ["approver"]

# On development, low-risk requests run without approval; the others wait for one of the DBA team.
[[workflows]]
database = "shop"
environment = "development"
auto_approve = { mode = "risk_based", risk = "low" }

[[workflows.steps]]
[[workflows.steps.approvers]]
group = "dba-team"

# On production, every request waits for one of the DBA team, and needs a reason.
[[workflows]]
database = "shop"
environment = "production"
require_reason = true

[[workflows.steps]]
[[workflows.steps.approvers]]
group = "dba-team"
min = 1
`;
