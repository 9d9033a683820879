import { type Command, Option } from 'commander';
import { eventCategories, eventOutcomes, eventTypes } from '../../domain/audit/catalogue.js';
import { OPERATIONS } from '../../domain/policies.js';
import type { Bind } from '../command.js';
import { defineIdentity } from './identity.js';
import { auditAnchor, moreNames, nameList, outputFile, publicKeys, resultFormatOption, wholeNumber } from './values.js';

export function defineAdministration(program: Command, bind: Bind): void {
  defineAudit(program, bind);
  defineToken(program, bind);
  defineIdentity(program, bind);
}

const sinceHelp = '7d, 12h or 30m ago, 2026-05-01 or an RFC 3339 time';

function defineAudit(program: Command, bind: Bind): void {
  const audit = program.command('audit').description('read, export and verify the audit log');
  const list = addAuditFilters(audit.command('list', { isDefault: true }).description('list audit events, newest first'))
    .option('--limit <n>', 'how many to show, at most 200 (default: 50)', wholeNumber)
    .option('--offset <n>', 'how many to skip', wholeNumber)
    .option('--verify', 'the same as audit verify')
    .addOption(resultFormatOption());
  bind(list, async () => (await import('../commands/audit.js')).listAuditEvents);
  const exported = addAuditFilters(
    audit.command('export').description('export sealed events, oldest first, with a signed manifest'),
  )
    .addOption(new Option('--as <format>', 'output format').choices(['ndjson', 'csv']))
    .option('--output <file>', 'write the events to a file', outputFile);
  bind(exported, async () => (await import('../commands/audit-export.js')).exportAudit);
  const verify = audit
    .command('verify')
    .description('check that nobody changed the audit log, on the server or in an exported file')
    .option('--anchor <seq:hash>', 'number and hash of an event that you kept, to compare with', auditAnchor)
    .option('--checkpoint <file>', 'a signed checkpoint that you kept, to compare with')
    .option('--file <export>', 'check this export file, without a server or configuration')
    .option('--public-key <hex...>', 'with --file: trust only these audit keys', publicKeys);
  bind(verify, async () => (await import('../commands/audit-verify.js')).verifyAudit);
}

const addAuditFilters = (command: Command): Command =>
  command
    .option('--user <id>', 'only events by this user or agent')
    .addOption(new Option('--operation <name>', 'only this operation').choices([...OPERATIONS]))
    .addOption(new Option('--event-type <type>', 'only this type, such as request.approved').choices([...eventTypes]))
    .addOption(new Option('--category <name>', 'only this category').choices([...eventCategories]))
    .addOption(new Option('--outcome <name>', 'only this outcome').choices([...eventOutcomes]))
    .option('--request <id>', 'only this request')
    .option('--since <when>', sinceHelp)
    .option('--until <when>', sinceHelp);

function defineToken(program: Command, bind: Bind): void {
  const token = program.command('token').description('manage API tokens');
  const subjectTypes = ['user', 'agent'];
  const create = token
    .command('create')
    .description('create a token; it is shown only once')
    .option('--subject <id>', 'owner of the token (default: you)')
    .option('--agent <name>', 'create a token for this agent')
    .option(
      '--scope <database/environment>',
      'database and environment that the agent may serve, * for any; repeatable',
      moreNames,
    )
    .addOption(new Option('--subject-type <type>', 'user or agent (default: user)').choices(subjectTypes))
    .option('--scope-roles <a,b>', 'limit the token to these roles', nameList)
    .option('--no-scope-ceiling', 'no limit on roles (agent tokens only)')
    .option('--name <text>', 'a label')
    .option('--expires <when>', 'in 7d, 12h or 30m, on 2026-05-01 or at an RFC 3339 time (default: never)');
  bind(create, async () => (await import('../commands/token.js')).createToken);
  const list = token
    .command('list')
    .description('list your tokens, newest first (administrators: all tokens)')
    .option('--subject <id>', 'only tokens of this user or agent')
    .addOption(new Option('--status <status>', 'only this status').choices(['active', 'expired', 'revoked']))
    .addOption(new Option('--type <type>', 'kind of subject').choices(subjectTypes));
  bind(list, async () => (await import('../commands/token.js')).listTokens);
  const revoke = token.command('revoke').description('revoke a token; it stops working at once').argument('<id>', 'token id');
  bind(revoke, async () => (await import('../commands/token.js')).revokeToken);
  const inspect = token.command('inspect').description('show what a token may do').argument('<id>', 'token id');
  bind(inspect, async () => (await import('../commands/token.js')).inspectToken);
}
