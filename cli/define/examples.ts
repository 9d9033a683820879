import type { Command } from 'commander';

/** Puts its examples below the help of a command and of all below it. */
export function addExamples(command: Command, path = ''): void {
  const lines = examples[path] ?? [];
  command.addHelpText('after', `\nExamples:\n${lines.map((line) => `  svc ${line}`).join('\n')}`);
  for (const child of command.commands) addExamples(child, `${path} ${child.name()}`.trim());
}

/** Two of each command, without the leading `svc`; a test parses them. */
export const examples: Readonly<Record<string, readonly [string, string]>> = {
  '': ['execute "SELECT count(*) FROM orders" -d shop -e staging', 'request list --pending-for-me'],

  execute: [
    'execute "UPDATE items SET price = 5 WHERE id = 7" --reason "new price" --wait',
    'execute --file report.sql --result-format csv > report.csv',
  ],
  preflight: ['preflight "DELETE FROM orders WHERE id = 7" -d shop -e production', 'preflight --file change.sql --no-explain'],
  shell: ['shell -d shop -e staging', 'shell -d shop -e staging --yes < statements.sql'],
  schema: ['schema -d shop -e production', 'schema --table public.orders'],
  databases: ['databases', 'databases --json'],
  agents: ['agents', 'agents --json'],

  login: ['login', 'login --device'],
  logout: ['logout', 'logout --all'],
  whoami: ['whoami', 'whoami --json'],
  console: ['console', 'console --no-browser'],
  doctor: ['doctor', 'doctor --agent /etc/svc-agent/agent.toml'],
  trust: ['trust https://gate.example.com', 'trust --list'],

  migrate: ['migrate create add_price', 'migrate up -e staging --wait'],
  'migrate create': ['migrate create add_price', 'migrate create "index orders by day" -d shop'],
  'migrate up': ['migrate up -e staging --reason "release 1.4"', 'migrate up -e production --count 1 --wait'],
  'migrate down': ['migrate down -e staging', 'migrate down -e staging --count 2 --reason "back to 1.3"'],
  'migrate status': ['migrate status -e production', 'migrate status --json'],
  'migrate lint': ['migrate lint', 'migrate lint --strict --format github'],
  'migrate repair': [
    'migrate repair --action mark-applied --version 20260501120000 --emergency --reason "applied by hand"',
    'migrate repair --action remove --version 20260501120000 --emergency --reason "reverted by hand"',
  ],

  request: ['request list --status pending', 'request show 4f0c9d0e'],
  'request list': ['request list --pending-for-me', 'request list --status executed --user alice --limit 20'],
  'request show': ['request show 4f0c9d0e', 'request show 4f0c9d0e --json'],
  'request watch': ['request watch 4f0c9d0e', 'request watch 4f0c9d0e --timeout 600 && echo executed'],
  'request open': ['request open 4f0c9d0e', 'request open 4f0c9d0e --json'],
  'request approve': ['request approve 4f0c9d0e --comment "checked the plan"', 'request approve 4f0c9d0e --as group:dba-team'],
  'request reject': ['request reject 4f0c9d0e', 'request reject 4f0c9d0e --comment "needs a WHERE"'],
  'request cancel': ['request cancel 4f0c9d0e', 'request cancel 4f0c9d0e --reason "not needed any more"'],
  'request wait': ['request wait 4f0c9d0e --resume', 'request wait 4f0c9d0e --timeout 600 --output result.json'],
  'request resume': ['request resume 4f0c9d0e', 'request resume 4f0c9d0e --result-format vertical'],
  'request result': ['request result 4f0c9d0e', 'request result 4f0c9d0e --result-format csv --output rows.csv'],
  'request results': ['request results', 'request results --limit 10'],
  'request executions': ['request executions 4f0c9d0e', 'request executions 4f0c9d0e --limit 5'],

  evidence: ['evidence get 4f0c9d0e --output evidence.json', 'evidence verify evidence.json'],
  'evidence get': ['evidence get 4f0c9d0e --output evidence.json', 'evidence get 4f0c9d0e --output evidence.json --without-text'],
  'evidence verify': ['evidence verify evidence.json', 'evidence verify evidence.json --checkpoint checkpoint.json'],

  policy: ['policy resolve shop production', 'policy list --kind workflow'],
  'policy resolve': ['policy resolve shop production', 'policy resolve shop production --operation execute_dml'],
  'policy list': ['policy list', 'policy list --kind sql-review'],

  webhook: ['webhook list', 'webhook deliveries --status dead'],
  'webhook list': ['webhook list', 'webhook list --json'],
  'webhook show': ['webhook show ops-feed', 'webhook show ops-feed --json'],
  'webhook test': ['webhook test ops-feed', 'webhook test ops-feed --wait'],
  'webhook deliveries': ['webhook deliveries --webhook ops-feed', 'webhook deliveries --status dead --limit 10'],
  'webhook redeliver': [
    'webhook redeliver wd-6f1e2d3c-4b5a-4978-8675-645342312011',
    'webhook redeliver wd-6f1e2d3c-4b5a-4978-8675-645342312011 --json',
  ],
  'webhook listen': ['webhook listen', 'webhook listen --port 9100 --secret-file hook.secret --count 1'],

  slack: ['slack init --server-url https://gate.example.com', 'slack init --server-url https://gate.example.com --open'],
  'slack init': [
    'slack init --server-url https://gate.example.com --open',
    'slack init --server-url https://gate.example.com --manifest-only > manifest.json',
  ],

  audit: ['audit --since 1d', 'audit verify'],
  'audit list': ['audit list --user alice --since 7d', 'audit list --request 4f0c9d0e --result-format json'],
  'audit export': ['audit export --since 2026-05-01 --output events.ndjson', 'audit export --as csv --user alice > alice.csv'],
  'audit verify': ['audit verify', 'audit verify --file events.ndjson'],

  token: ['token create --name laptop --expires 30d', 'token list --status active'],
  'token create': [
    'token create --name ci --scope-roles requester --expires 90d',
    'token create --agent eu-1 --scope shop/production',
  ],
  'token list': ['token list', 'token list --status active --type agent'],
  'token revoke': [
    'token revoke 5a6b7c8d-1111-4222-8333-944445555666',
    'token revoke 5a6b7c8d-1111-4222-8333-944445555666 --yes',
  ],
  'token inspect': [
    'token inspect 5a6b7c8d-1111-4222-8333-944445555666',
    'token inspect 5a6b7c8d-1111-4222-8333-944445555666 --json',
  ],

  user: ['user add mira --role requester', 'user list'],
  'user add': ['user add mira --role requester', 'user add omar --role requester --group dba-team'],
  'user list': ['user list', 'user list --json'],
  'user show': ['user show mira', 'user show mira --json'],
  'user update': ['user update mira --add-group dba-team', 'user update mira --add-role approver --rm-role requester'],
  'user suspend': ['user suspend mira', 'user suspend mira --json'],
  'user activate': ['user activate mira', 'user activate mira --json'],
  'user rm': ['user rm mira', 'user rm mira --yes'],
  'user reissue-initial-token': ['user reissue-initial-token mira', 'user reissue-initial-token mira --json'],

  group: ['group list', 'group show dba-team'],
  'group list': ['group list', 'group list --json'],
  'group show': ['group show dba-team', 'group show dba-team --json'],
  role: ['role list', 'role list --json'],
  'role list': ['role list', 'role list --json'],

  license: ['license keygen --out license.key', 'license show svc_lic_v1.abc'],
  'license keygen': ['license keygen --out license.key', 'license keygen --out license.key --force'],
  'license issue': [
    'license issue --key license.key --plan team --to "Example Ltd" --expires 365d',
    'license issue --key license.key --plan team --to "Example Ltd" --expires 2027-12-31 --max-users 50',
  ],
  'license show': ['license show svc_lic_v1.abc', 'license show - < license.txt'],

  mcp: ['mcp', 'mcp -d shop -e staging'],
  completion: ['completion bash > /etc/bash_completion.d/svc', 'completion fish > ~/.config/fish/completions/svc.fish'],
  init: ['init', 'init --output-dir gateway --dry-run'],

  server: ['server --config server.toml', 'server --listen 127.0.0.1:3000'],
  'server reload': ['server reload', 'server reload --config /etc/svc/server.toml --json'],
  'server keys': ['server keys list', 'server keys rotate --purpose audit'],
  'server keys list': ['server keys list', 'server keys list --purpose audit --json'],
  'server keys rotate': ['server keys rotate', 'server keys rotate --overlap 7d'],
  'server keys revoke': ['server keys revoke ab12cd34ef56ab78', 'server keys revoke ab12cd34ef56ab78 --purpose audit'],
  'server keys rotate-secret': [
    'server keys rotate-secret new-secret.hex',
    'server keys rotate-secret new-secret.hex --config /etc/svc/server.toml',
  ],
  'server keys import': ['server keys import seed.hex', 'server keys import seed.hex --purpose audit'],
  worker: ['worker', 'worker --config /etc/svc/server.toml'],
  dev: ['dev', 'dev --data /tmp/gateway --reset'],
  config: ['config check', 'config check --config /etc/svc/server.toml --online'],
  'config check': ['config check', 'config check --config /etc/svc/server.toml --online --strict'],
};
