/** The `agent.toml` that `svc init` writes: both environments of the `server.toml` beside it. */
export const agentToml = `# The agent: "svc-agent --config agent.toml" runs near the databases and is the only process that holds their credentials.
# \${NAME} and \${NAME:-default} are replaced by environment variables.

# Default: all but migrate_repair, which must be listed.
#operations = ["execute_select", "execute_dml", "migrate_up", "migrate_down", "migrate_status", "migrate_repair"]

[server]
# Not SVC_SERVER_URL: "svc" reads that variable, and sends no token of svc.toml to its address.
url = "\${SVC_AGENT_SERVER_URL:-http://127.0.0.1:3000}"
# Written by the first start of the server; on another host, copy the token there.
agent_token_file = "state/agent-token"
# Keys that may sign, and no others: "svc server keys list" prints the line.
#trusted_keys = ["…"]

# One table for each database and environment of server.toml. read_url is used for everything that only reads: give it a role that cannot write.
# On another host than the agent's the address says how it is protected: postgres://user:password@host/shop?sslmode=verify-full
[databases.shop.development]
url = "\${SHOP_DEVELOPMENT_URL}"
#read_url = "\${SHOP_DEVELOPMENT_READ_URL}"

[databases.shop.production]
url = "\${SHOP_PRODUCTION_URL}"
#read_url = "\${SHOP_PRODUCTION_READ_URL}"

[limits]
# Rows of one result.
#max_rows = 10000
`;
