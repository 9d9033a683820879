/** One row of the table of bad files: what is added to the minimal file (its first line is line 4), and what is told. */
export const BAD_FILES: [name: string, added: string, errors: string[]][] = [
  ['a value that is no integer', '[server]\ndrain_secs = 1.5', ['5:14: server.drain_secs: must be an integer']],
  ['an integer out of range', '[server]\ndrain_secs = -1', ['5:14: server.drain_secs: must be 0 to 600']],
  ['a literal string for an integer', '[server]\ndrain_secs = "20"', ['5:14: server.drain_secs: must be an integer']],
  [
    'a date where a text belongs',
    '[logging]\nlevel = 2031-01-01',
    ['5:9: logging.level: must be one of error, warn, info, debug'],
  ],
  ['a text where a table belongs', '[auth]\noidc = "x"', ['5:8: auth.oidc: must be a table']],
  ['a number where a table belongs', '[temporal]\ntls_files = 5', ['5:13: temporal.tls_files: must be a table']],
  [
    'an unknown key',
    '[[workflows]]\nauto_approve = { mode = "always" }\nrequire_reson = true',
    ['6:1: workflows[0].require_reson: unknown key (did you mean require_reason?)'],
  ],
  ['an unknown section', '[servr]\nlisten = "x"', ['4:1: servr: unknown key (did you mean server?)']],
  [
    'two entries for one pair',
    '[[execution_policies]]\ndatabase = "a"\n[[execution_policies]]\ndatabase = "a"',
    ['6:1: execution_policies[1]: has the same database and environment as an earlier entry'],
  ],
  [
    'two webhooks with one id',
    '[[webhooks]]\nid = "a"\nurl = "https://a.example.net"\n[[webhooks]]\nid = "a"\nurl = "https://b.example.net"',
    ['8:6: webhooks[1] "a".id: appears twice'],
  ],
  [
    'two databases of one name',
    '[[databases]]\nname = "a"\nenvironments = ["x"]\n[[databases]]\nname = "a"\nenvironments = ["y"]',
    ['8:8: databases[1] "a".name: appears twice'],
  ],
  [
    'an environment twice',
    '[[databases]]\nname = "a"\nenvironments = ["x", "x"]',
    ['6:22: databases[0] "a".environments[1]: appears twice'],
  ],
  [
    'an unknown permission',
    '[[auth.roles]]\nname = "r"\npermissions = ["request.execute"]',
    ['6:16: auth.roles[0] "r".permissions[0]: unknown permission'],
  ],
  [
    'a suffix that the permission does not take',
    '[[auth.roles]]\nname = "r"\npermissions = ["user.read:any"]',
    ['6:16: auth.roles[0] "r".permissions[0]: user.read takes no suffix'],
  ],
  [
    'a custom role with a built-in name',
    '[[auth.roles]]\nname = "admin"\npermissions = ["*"]',
    ['5:8: auth.roles[0] "admin".name: is the name of a built-in role'],
  ],
  [
    'agent.operate in a custom role',
    '[[auth.roles]]\nname = "r"\npermissions = ["agent.operate"]',
    ['6:16: auth.roles[0] "r".permissions[0]: agent.operate is for agents only'],
  ],
  [
    'a workflow with neither rule nor steps',
    '[[workflows]]\nexplain = true',
    ['4:1: workflows[0]: must have auto_approve or steps'],
  ],
  [
    'always with steps',
    '[[workflows]]\nauto_approve = { mode = "always" }\nsteps = [{ approvers = [{ role = "dba" }] }]',
    ['5:25: workflows[0].auto_approve.mode: always takes no steps'],
  ],
  [
    'risk_based without steps',
    '[[workflows]]\nauto_approve = { mode = "risk_based", risk = "low" }',
    ['5:25: workflows[0].auto_approve.mode: risk_based needs steps'],
  ],
  [
    'risk_based without risk',
    '[[workflows]]\nauto_approve = { mode = "risk_based" }\nsteps = [{ approvers = [{ role = "dba" }] }]',
    ['5:1: workflows[0].auto_approve.risk: is required for risk_based'],
  ],
  [
    'an approver with role and group',
    '[[workflows]]\n[[workflows.steps]]\napprovers = [{ role = "dba", group = "g" }]',
    ['6:14: workflows[0].steps[0].approvers[0]: must have exactly one of role, group, user'],
  ],
  [
    'an approver with none',
    '[[workflows]]\n[[workflows.steps]]\n[[workflows.steps.approvers]]\nmin = 1',
    ['6:1: workflows[0].steps[0].approvers[0]: must have exactly one of role, group, user'],
  ],
  [
    'min 0',
    '[[workflows]]\n[[workflows.steps]]\napprovers = [{ role = "dba", min = 0 }]',
    ['6:36: workflows[0].steps[0].approvers[0].min: must be 1 to 2147483647'],
  ],
  [
    'a user with min 2',
    '[[workflows]]\n[[workflows.steps]]\napprovers = [{ user = "mira", min = 2 }]',
    ['6:37: workflows[0].steps[0].approvers[0].min: must be 1 for a user'],
  ],
  [
    'a step without approvers',
    '[[workflows]]\n[[workflows.steps]]\napprovers = []',
    ['6:13: workflows[0].steps[0].approvers: must not be empty'],
  ],
  [
    'a TTL of 0',
    '[[workflows]]\nauto_approve = { mode = "always" }\npending_ttl_secs = 0',
    ['6:20: workflows[0].pending_ttl_secs: must be 1 to 2147483647'],
  ],
  [
    'timeouts that PostgreSQL has no milliseconds for',
    '[[execution_policies]]\nstatement_timeout_secs = 2000001\nmigration_statement_timeout_secs = 2000001\nmax_statement_timeout_secs = 2147483647',
    [
      '5:26: execution_policies[0].statement_timeout_secs: must be 1 to 2000000',
      '6:36: execution_policies[0].migration_statement_timeout_secs: must be 0 to 2000000',
    ],
  ],
  [
    'such a timeout of a workflow',
    '[[workflows]]\nauto_approve = { mode = "always" }\nstatement_timeout_secs = 2000001',
    ['6:26: workflows[0].statement_timeout_secs: must be 1 to 2000000'],
  ],
  [
    'a session that lives longer than its queries can say',
    '[mcp]\nsession_ttl_secs = 2000001',
    ['5:20: mcp.session_ttl_secs: must be 10 to 2000000'],
  ],
  [
    'an event that matches nothing',
    '[[webhooks]]\nid = "a"\nurl = "https://a.example.net"\nevents = ["request_created"]',
    ['7:11: webhooks[0] "a".events[0]: matches no event'],
  ],
  ['a licence key without public key', '[license]\nkey = "svc_lic_v1.e30=.AAAA"', ['5:7: license.key: needs license.public_key']],
  [
    'a licence key with a bad signature',
    `[license]\nkey = "svc_lic_v1.e30=.${'A'.repeat(86)}=="\npublic_key = "${'0'.repeat(63)}1"`,
    ['5:7: license.key: has a signature that does not fit license.public_key'],
  ],
  [
    'an undefined role in a group',
    '[[auth.groups]]\nname = "g"\nroles = ["nosuch"]',
    ['6:10: auth.groups[0] "g".roles[0]: role nosuch is not defined (define it in [[auth.roles]])'],
  ],
  [
    'an undefined webhook in a policy',
    '[[notification_policies]]\nwebhooks = ["nosuch"]',
    ['5:13: notification_policies[0].webhooks[0]: webhook nosuch is not defined'],
  ],
  [
    'a private webhook address',
    '[[webhooks]]\nid = "a"\nurl = "http://[::ffff:10.1.2.3]/"',
    ['6:7: webhooks[0] "a".url: host [::ffff:a01:203] is a private address (set allow_private_networks or use a public host)'],
  ],
  [
    'a malformed webhook secret',
    '[[webhooks]]\nid = "a"\nurl = "https://a.example.net"\nsecret = "whsec_abc"',
    ['7:10: webhooks[0] "a".secret: must have base64 of 24 to 64 bytes after whsec_'],
  ],
  [
    'a statement timeout above its maximum',
    '[[execution_policies]]\nstatement_timeout_secs = 601',
    ['5:26: execution_policies[0].statement_timeout_secs: must not exceed max_statement_timeout_secs (600)'],
  ],
  [
    'the name any in a review policy',
    '[[sql_review]]\ndatabase = "any"',
    ['5:12: sql_review[0].database: must be a name of 1 to 63 characters [a-z][a-z0-9_-]* other than any, or *'],
  ],
  [
    'equal bootstrap tokens',
    `[bootstrap]\nadmin_token = "svc_${'0'.repeat(32)}"\nagent_token = "svc_${'0'.repeat(32)}"`,
    ['6:15: bootstrap.agent_token: must differ from admin_token'],
  ],
];
