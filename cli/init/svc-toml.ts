/** The `svc.toml` that `svc init` writes: the gateway's address and the defaults of the command line. */
export const svcToml = `# The command line: "svc" reads this file in the working directory. SVC_SERVER_URL and SVC_TOKEN override it.
# SVC_TOKEN is sent to this address only after "svc trust". Only variables whose name begins with SVC_ are read.

default_database = "shop"
default_environment = "development"
# Where "svc migrate" keeps its files.
migrations_dir = "migrations"

[server]
url = "http://127.0.0.1:3000"
# The administrator's first token. Give everybody their own with "svc user add".
token_file = "state/admin-token"

[results]
# table, csv, vertical or json.
format = "table"
`;
