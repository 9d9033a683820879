/** What the calls of the API are grouped by, each with what its group is for. */
export const tags = {
  requests: 'Request SQL or a migration, follow it, and approve, reject, cancel or resume it.',
  results: 'Read what statements returned.',
  schemas: 'Which databases there are, and what their tables look like.',
  identity: 'Users, groups, and who you are.',
  tokens: 'API tokens of users and agents.',
  configuration: 'What `server.toml` says: roles, policies and webhooks. It is read here, and changed only in the file.',
  audit: 'The audit log: search it, export it, and prove that it is complete.',
  agents: 'The protocol of `svc-agent`, which alone reaches the databases; and how the agents are doing.',
  operations: 'Health, metrics, deliveries to webhooks, and this document.',
  slack: 'What Slack calls.',
  console: 'The session of a browser that shows the web console.',
  mcp: 'The Model Context Protocol, for AI agents.',
} as const satisfies Record<string, string>;

export type Tag = keyof typeof tags;
